#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/explain/shell_text.h"
#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// A command line of berth: its flags by their canonical names, and then its inputs that belong to
// no flag. Each flag stands there once, in the order of their last mention. It has its last value,
// or all values where it may be repeated.
class OwnCommand {
 public:
  using Setting = std::pair<const Flag*, std::string>;

  void set(std::string_view flag, std::string value);  // of a switch: "true" or "false"
  bool has(std::string_view flag) const { return value(flag).has_value(); }
  std::optional<std::string> value(std::string_view flag) const;
  void remove(std::string_view flag);
  // Adds an argument that belongs to no flag: an input of some modes.
  void add_input(std::string input) { inputs_.push_back(std::move(input)); }
  const std::vector<std::string>& inputs() const { return inputs_; }
  std::string mode() const { return value("mode").value_or("train_and_eval"); }
  bool trains() const { return mode() == "train" || mode() == "train_and_eval"; }
  const std::vector<Setting>& settings() const { return settings_; }

  // The line as someone types it, cut by backslashes into lines of at most 100 columns, with the
  // environment and the redirections of `typed`. `expands` as in shell_quoted().
  std::string line(const ShellCommand& typed, bool expands) const;

 private:
  std::vector<Setting> settings_;
  std::vector<std::string> inputs_;
};

// "--batch-size 32", "--recompute", "--no-do-lower-case".
std::string flag_text(const OwnCommand::Setting& setting, bool expands);

// Parses the line as berth would, and adds to `remarks` what it refuses. A flag whose value it
// refuses is removed. Where the line `expands`, values that a shell has yet to fill in are not
// checked. A file of flags is not read.
void check_line(OwnCommand& own, bool expands, Remarks& remarks);

}  // namespace berth
