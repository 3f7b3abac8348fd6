#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "entrypoint/explain/shell_text.h"

namespace berth {

// The value of a variable of a shell. One that may have several values has its own name as value:
// "$NAME".
struct ShellVariable {
  std::string value{};
  std::vector<std::string> items{};  // of an array
  std::set<std::string> chosen{};    // the variables with several values that it depends on

  bool operator==(const ShellVariable&) const = default;
};

// The variables of a shell's text, and the blocks that set them: conditions, loops, functions and
// subshells. Inside a block a variable has the value that the block gives it. Behind the block it
// may have another one, if the block may not run. An array NAME is the variable "NAME[@]".
class ShellVariables {
 public:
  ShellVariables(const std::map<std::string, std::string>& variables,
                 const std::set<std::string>& chosen);

  const ShellVariable* find(const std::string& name) const;
  void set(const std::string& name, ShellVariable variable);
  void unset(const std::string& name);
  // The variable gets a value that the text does not show.
  void set_unknown(const std::string& name);

  // A command uses the variable. `at` is its number.
  void note_use(const std::string& name, size_t at);
  // Variables, with the numbers of commands that use them. A later round of a loop, or a later call
  // of a function, gives them another value.
  const std::vector<std::pair<std::string, size_t>>& later_changes() const { return changes_; }

  // Takes the next word of a command, which may be of the shell's grammar, such as "then" and "fi".
  // `begins`: a command may begin with it. Returns whether a command may begin behind it.
  bool read_word(const std::string& word, bool begins);
  // A command has ended at `sign`: "&&", "||", ";;", ")", or another end of a list of commands. A
  // list goes on behind an empty line. `may_fail`: the next command may not run.
  void end_command(std::string_view sign, bool is_empty, bool may_fail);
  void begin_subshell() { begin(Kind::kSubshell); }
  void begin_function(const std::string& name) { function_ = name; }
  // A command runs a function of the text, where the word names one.
  void call(const std::string& word);

 private:
  enum class Kind { kIf, kCase, kLoop, kChain, kFunction, kGroup, kSubshell };
  using State = std::optional<ShellVariable>;

  struct Block {
    Kind kind;
    std::string name{};                     // of a function
    std::map<std::string, State> before{};  // of the variables that this branch has set
    std::set<std::string> changed{};        // the variables that earlier branches have set
    std::vector<std::pair<std::string, size_t>> uses{};  // of variables from outside
  };

  void put(const std::string& name, State state);
  void begin(Kind kind);
  void end_branch();
  void end_block();
  void end(Kind kind);
  bool is_on_top(Kind kind) const { return !blocks_.empty() && blocks_.back().kind == kind; }
  void end_group();

  std::map<std::string, ShellVariable> variables_;
  std::vector<Block> blocks_;
  std::map<std::string, std::vector<size_t>> function_uses_;
  std::vector<std::pair<std::string, size_t>> changes_;
  std::map<std::string, std::set<std::string>> set_by_functions_;
  std::string function_;                              // whose body begins next
  bool names_loop_ = false, names_function_ = false;  // the next word does
  bool list_goes_on_ = false;
};

}  // namespace berth
