#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/foreign/foreign_flag.h"

namespace berth {

// One flag of a command line with its values, or one argument that is neither.
struct TypedArgument {
  std::vector<std::string> tokens;  // the arguments that it takes up
  std::string typed{};              // "--eval_strategy"; empty: no flag that is known
  const Flag* own = nullptr;        // what it names, of which at most one is set
  const ForeignFlag* foreign = nullptr;
  std::vector<std::string> values{};  // of a switch: "true", "false" or what was typed
  bool is_negated = false;            // --no-x or --nox
};

// A command line cut into flags. berth's own table and the tables of other programs say which words
// are flags and which are values. No other code cuts it.
class TypedCommand {
 public:
  TypedCommand() = default;
  // `processes` of them run with these arguments at the same time.
  explicit TypedCommand(std::span<const std::string> arguments, int64_t processes = 1);

  void add(TypedArgument argument) { arguments_.push_back(std::move(argument)); }
  void add(const std::string& token);  // a flag with its value behind "=", or what is no flag

  const std::vector<TypedArgument>& arguments() const { return arguments_; }
  int64_t processes() const { return processes_; }

  // The last value of a flag: of berth's own by its canonical name, of another program's by its
  // name in the table. nullopt: it was not typed, or without a value.
  std::optional<std::string> value(std::string_view name) const;
  // The flag as it was typed, where `name` is as in value(); empty: it was not.
  std::string typed_name(std::string_view name) const;
  // Whether a switch is among the arguments and on.
  bool is_on(std::string_view name) const;
  // Whether no later argument is another program's flag of one of these names.
  bool is_last_of(size_t index, std::initializer_list<std::string_view> names) const;

 private:
  std::vector<TypedArgument> arguments_;
  int64_t processes_ = 1;
};

// A remark for the user about one flag, or another word of a line, that is not berth's.
struct Remark {
  std::string flag;  // as it was typed
  std::string text;  // "has no effect: ..."; of a refused flag what helps
  bool refused;
};

// In the order in which the user reads them.
struct Remarks : std::vector<Remark> {
  void note(std::string_view flag, std::string_view text) {
    push_back({std::string(flag), std::string(text), false});
  }
  void refuse(std::string_view flag, std::string_view text) {
    push_back({std::string(flag), std::string(text), true});
  }
};

// A command line in berth's own flags.
struct Translation {
  TypedCommand command{};
  Remarks remarks{};
  bool predicts_afterwards = false;  // another run, in --mode predict, was asked for as well

  void add(const std::string& argument) { command.add(argument); }
  void ignore(const TypedArgument& argument, std::string_view why);
  void note(const TypedArgument& argument, std::string_view text);
  void refuse(const TypedArgument& argument, std::string_view advice);
};

// Replaces the flags of other programs. berth's own flags, arguments that are not flags, and
// unknown flags do not change. One exception: values that other programs give to flags of the same
// name, such as `--max_steps -1`. Throws nothing: a flag that cannot be translated is left out,
// with a remark.
Translation translate(const TypedCommand& command);

}  // namespace berth
