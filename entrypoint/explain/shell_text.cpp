#include "entrypoint/explain/shell_text.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "entrypoint/explain/shell_variables.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Every command keeps a copy of these.
constexpr size_t kMostBatchOptions = 32, kLongestSetting = 128;
// Of ((N = 1)), and of the blanks and signs behind a name there.
constexpr size_t kLongestSum = 1024, kLongestOperator = 16;
// Variables may hold others, each twice.
constexpr size_t kMostInsertedBytes = size_t{4} << 20;

bool is_name_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Whether lines end in ^, or %NAME% is a variable. %Y%m%d is a date.
bool is_batch_file(std::string_view text) {
  for (size_t at = text.find_first_of("^%"); at != text.npos; at = text.find_first_of("^%", at)) {
    const char first = text[at++];
    size_t end = at;
    if (first == '^') {
      end = std::min(text.find_first_not_of(" \t\r", at), text.size());
      if (end < text.size() && text[end] == '\n') return true;
      continue;
    }
    while (end < text.size() && is_name_character(text[end])) ++end;
    constexpr size_t kShortestName = 3;
    if (end >= at + kShortestName && end < text.size() && text[end] == '%') return true;
  }
  return false;
}

class ShellReader {
 public:
  ShellReader(std::string_view text, const std::map<std::string, std::string>& variables,
              const std::set<std::string>& chosen)
      : text_(text), is_windows_(is_batch_file(text)), variables_(variables, chosen) {}

  std::vector<ShellCommand> read() {
    while (at_ < text_.size()) read_next();
    end_command("\n");
    for (const auto& [name, at] : variables_.later_changes()) {
      if (at < commands_.size()) commands_[at].chosen.insert(name);
    }
    return std::move(commands_);
  }

 private:
  char next(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }

  void read_next() {
    const char c = next();
    if (c == '\\') return read_escape();
    if (c == '\'') return read_single_quotes();
    if (c == '"') return read_double_quotes();
    if (c == '$') return read_variable(false);
    if (c == '(' && word_.ends_with('=') && is_assignment(word_)) return begin_array();
    if (!array_.empty() && (c == ')' || c == '\n')) return read_array_end();
    if (c == '#' && !in_word_) return read_comment();
    if ((c == '^' || (c == '`' && !in_word_)) && continues_line()) return;
    if (c == '`' && read_backticks()) return;
    if (c == '<' || c == '>') return read_redirection();
    ++at_;
    // A bracket closes a subshell or the pattern of a case.
    if (c == ')' && !is_windows_) return end_command(")");
    if (c == '(' && !in_word_ && command_.words.empty()) return begin_brackets();
    if (c == ' ' || c == '\t' || c == '\r') return end_word();
    if (c == '\n' || c == ';' || c == '|' || c == '&') return read_operator(c);
    append(c);
  }

  void read_operator(char c) {
    std::string sign(1, c);
    if (c != '\n' && next() == c) {  // "&&", "||", ";;"
      sign += c;
      ++at_;
    }
    end_command(sign);
  }

  // A subshell, or an expression of numbers such as ((N += 1)).
  void begin_brackets() {
    const size_t end = next() == '(' ? text_.substr(at_, kLongestSum).find("))") : text_.npos;
    if (is_windows_) return;
    if (end == text_.npos) return variables_.begin_subshell();
    command_.words.emplace_back("((");
    count_up(text_.substr(at_ + 1, end - 1));
    at_ += end + 2;
  }

  // Expressions of numbers set the names before "=", "+=" and their kind, and those beside "++".
  void count_up(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
      size_t end = at;
      while (end < text.size() && is_name_character(text[end])) ++end;
      const std::string name(text.substr(at, end - at));
      at = std::max(end, at + 1);
      const std::string_view rest = trimmed(text.substr(end, kLongestOperator));
      const bool is_equal = rest.starts_with("==");
      const size_t sign = rest.find('=');
      const bool is_set = sign != rest.npos && !is_equal &&
                          rest.substr(0, sign).find_first_not_of("+-*/%&|^<>") == rest.npos &&
                          rest.substr(0, sign) != "<" && rest.substr(0, sign) != ">";
      const bool counts = rest.starts_with("++") || rest.starts_with("--") ||
                          text.substr(0, end - name.size()).ends_with("++") ||
                          text.substr(0, end - name.size()).ends_with("--");
      if (!name.empty() && (is_set || counts)) variables_.set_unknown(name);
    }
  }

  void append(char c) {
    word_ += c;
    in_word_ = true;
  }

  // Whether the character ends a line, also where blanks follow it by mistake. Then the line goes
  // on behind it, and so does a word that waits for a value, such as PARAMS=.
  bool continues_line() {
    const size_t end = std::min(text_.find_first_not_of(" \t\r", at_ + 1), text_.size());
    if (end == text_.size() || text_[end] != '\n') return false;
    at_ = end + 1;
    const bool is_list = in_word_ && (word_.ends_with('=') || word_.ends_with(','));
    if (!is_list) end_word();
    return true;
  }

  void read_escape() {
    if (continues_line()) return;
    if (is_windows_) {  // a path
      append('\\');
      ++at_;
      return;
    }
    if (next(1) != 0) append(next(1));
    at_ += 2;
  }

  [[noreturn]] void refuse_open_quote() {
    throw Error(Code::kUsage, "a quote has no end", "explain",
                "put the whole command line between single quotes, and use double quotes in it");
  }

  void read_single_quotes() {
    const size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) refuse_open_quote();
    word_ += text_.substr(at_ + 1, end - at_ - 1);
    in_word_ = true;
    at_ = end + 1;
  }

  void read_double_quotes() {
    in_word_ = true;
    for (++at_; next() != '"';) {
      if (at_ >= text_.size()) refuse_open_quote();
      if (next() == '$') {
        read_variable(true);
        continue;
      }
      if (next() == '`' && read_backticks()) continue;
      const bool is_escape =
          next() == '\\' && std::string_view("\"\\$`\n").find(next(1)) != std::string_view::npos;
      if (is_escape) ++at_;
      if (at_ >= text_.size()) refuse_open_quote();
      if (!is_escape || next() != '\n') word_ += next();
      ++at_;
    }
    ++at_;
  }

  // `command` on one line, which is written as $(command). false: it is something else.
  bool read_backticks() {
    const size_t end = text_.find_first_of("`\n", at_ + 1);
    const bool is_command = !is_windows_ && end != text_.npos && text_[end] == '`' && end > at_ + 1;
    if (!is_command) return false;
    word_ += cat("$(", text_.substr(at_ + 1, end - at_ - 1), ")");
    in_word_ = true;
    at_ = end + 1;
    return true;
  }

  // NAME=( of bash: the words up to ")", on any number of lines.
  void begin_array() {
    array_ = word_.substr(0, word_.find_first_of("+="));
    array_begin_ = command_.words.size();
    const ShellVariable* known = variables_.find(array_ + "[@]");
    items_ = known != nullptr && word_.find('+') != std::string::npos ? *known : ShellVariable();
    word_.clear();
    in_word_ = false;
    ++at_;
  }

  void read_array_end() {
    end_word();
    if (next() == ')') {
      const auto begin = command_.words.begin() + static_cast<ptrdiff_t>(array_begin_);
      std::move(begin, command_.words.end(), std::back_inserter(items_.items));
      command_.words.erase(begin, command_.words.end());
      items_.chosen.insert(command_.chosen.begin(), command_.chosen.end());
      variables_.set(array_ + "[@]", std::move(items_));
      array_.clear();
    }
    ++at_;
  }

  void count_inserted(size_t bytes) {
    inserted_ += bytes;
    if (inserted_ <= kMostInsertedBytes) return;
    throw Error(Code::kUsage, "the variables of the text make more than 4 MiB", "explain",
                "write their values out");
  }

  // A variable at the end of `text` with braces, where the word goes on with a letter behind it:
  // "$NAME"_x is ${NAME}_x.
  std::string braced(std::string_view text) const {
    size_t behind = at_;
    while (behind < text_.size() && (text_[behind] == '"' || text_[behind] == '\'')) ++behind;
    const bool goes_on = behind < text_.size() && is_name_character(text_[behind]);
    const size_t dollar = text.rfind('$');
    if (!goes_on || dollar == text.npos || dollar + 1 == text.size()) return std::string(text);
    const std::string_view name = text.substr(dollar + 1);
    if (!std::ranges::all_of(name, is_name_character)) return std::string(text);
    return cat(text.substr(0, dollar), "${", name, "}");
  }

  // Puts the value of a variable into the word. A shell cuts one without quotes at blanks, which
  // are none of a command's that the value holds: "$(date +%d %m)".
  void insert(std::string_view value, bool is_quoted) {
    count_inserted(value.size());
    if (is_quoted || is_assignment(word_)) {
      word_ += value;
      in_word_ = true;
      return;
    }
    int depth = 0;
    bool is_command = false;
    for (const char c : value) {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (c == '`') is_command = !is_command;
      if ((c == ' ' || c == '\t' || c == '\n') && depth <= 0 && !is_command) {
        end_word();
      } else {
        append(c);
      }
    }
  }

  // "${NAME[@]}": each item is a word of its own.
  void insert_items(const std::vector<std::string>& items) {
    for (const std::string& item : items) {
      count_inserted(item.size());
      command_.words.push_back(item);
    }
    in_word_ = begins_command_ = false;
  }

  // The place behind the $(command) that begins here. It may hold quotes and other commands:
  // $(cd "$(dirname "$0")" && pwd).
  size_t behind_command() const {
    constexpr size_t kLongest = 1024;
    const size_t limit = std::min(text_.size(), at_ + kLongest);
    std::string open;  // what is not closed yet: '(' or '"', each inside the one before it
    for (size_t i = at_ + 1; i < limit; ++i) {
      const char c = text_[i];
      const bool is_quoted = open.ends_with('"');
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        is_quoted ? open.pop_back() : open.push_back(c);
      } else if (c == '\'' && !is_quoted) {
        i = std::min(text_.find(c, i + 1), limit);
      } else if (c == '(' && (!is_quoted || text_[i - 1] == '$')) {
        open.push_back(c);
      } else if (c == ')' && !is_quoted) {
        open.pop_back();
        if (open.empty()) return i + 1;
      }
    }
    return std::min(text_.find(')', at_), text_.size() - 1) + 1;  // it has no end
  }

  // $NAME, ${NAME}, or what a command substitution would be, which stays as it is.
  void read_variable(bool is_quoted) {
    size_t end = at_ + 1;
    if (next(1) == '(') {
      end = behind_command();
    } else if (next(1) == '{') {
      end = std::min(text_.find('}', at_), text_.size() - 1) + 1;
    } else {
      while (end < text_.size() && is_name_character(text_[end])) ++end;
    }
    const std::string_view typed = text_.substr(at_, end - at_);
    at_ = end;
    std::string name(typed.substr(1));
    if (name.starts_with('{') && name.ends_with('}')) name = name.substr(1, name.size() - 2);
    if (name.ends_with("[*]")) name.replace(name.size() - 3, 3, "[@]");
    const bool is_array = name.ends_with("[@]");
    const ShellVariable* items = is_array ? use(name) : nullptr;
    if (items != nullptr && word_.empty()) return insert_items(items->items);
    const bool has_braces = typed.starts_with("${");
    const size_t colon = has_braces ? std::min(name.find(":="), name.find(":-")) : name.npos;
    const bool sets = colon != name.npos && name[colon + 1] == '=';
    const ShellVariable* set = is_array ? nullptr : use(name.substr(0, colon));
    if (set != nullptr) return insert(braced(set->value), is_quoted);
    if (colon != name.npos) {
      const std::string word = name.substr(colon + 2);
      const bool has_quotes = word.find_first_of("'\"") != std::string::npos;
      const std::string value = default_word(word);
      if (sets) variables_.set(name.substr(0, colon), {.value = value, .chosen = command_.chosen});
      return insert(value, is_quoted || has_quotes);
    }
    word_ += braced(typed);
    in_word_ = true;
  }

  // A variable that the text sets, which the command uses. nullptr: the text does not set it.
  const ShellVariable* use(const std::string& name) {
    const ShellVariable* variable = variables_.find(name);
    if (variable == nullptr) return nullptr;
    command_.chosen.insert(variable->chosen.begin(), variable->chosen.end());
    variables_.note_use(name, commands_.size());
    return variable;
  }

  // The word behind ":-" without its quotes, and with the variables that the text sets.
  std::string default_word(std::string_view typed) {
    std::string word;
    for (size_t at = 0; at < typed.size(); ++at) {
      if (typed[at] == '"' || typed[at] == '\'') continue;
      size_t end = at + 1;
      while (typed[at] == '$' && end < typed.size() && is_name_character(typed[end])) ++end;
      const ShellVariable* set = use(std::string(typed.substr(at + 1, end - at - 1)));
      word += set == nullptr ? typed.substr(at, end - at) : std::string_view(set->value);
      at = end - 1;
    }
    return word;
  }

  // Schedulers read the options of a job in its script's comments: "#SBATCH --gres=gpu:4".
  void read_comment() {
    constexpr std::array<std::pair<std::string_view, const char*>, 4> kSchedulers = {
        {{"#SBATCH ", "sbatch"}, {"#BSUB ", "bsub"}, {"#PBS ", "qsub"}, {"#$ ", "qsub"}}};
    const size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view comment = text_.substr(at_, end - at_);
    at_ = end;
    const auto scheduler = std::ranges::find_if(
        kSchedulers, [&](const auto& row) { return comment.starts_with(row.first); });
    const bool is_read = begins_job_ && batch_options_.size() < kMostBatchOptions;
    if (scheduler == kSchedulers.end() || !is_read) return;
    if (batch_options_.empty()) batch_options_.emplace_back(scheduler->second);
    std::string word;
    const auto end_option = [&] {
      if (!word.empty() && word.size() <= kLongestSetting) batch_options_.push_back(word);
      word.clear();
    };
    for (const char c : comment.substr(scheduler->first.size())) {
      if (c == '#') break;
      if (c == ' ' || c == '\t' || c == '\r') {
        end_option();
      } else {
        word += c;
      }
    }
    end_option();
  }

  // "> file", "2>&1", ">> file", "< file".
  void read_redirection() {
    const bool has_descriptor = is_digits(word_);
    std::string typed = has_descriptor ? word_ : "";
    if (has_descriptor) {
      word_.clear();
      in_word_ = false;
    }
    end_word();
    const size_t target = std::min(text_.find_first_not_of("<>&", at_), text_.size());
    typed += text_.substr(at_, target - at_);
    const size_t begin = std::min(text_.find_first_not_of(" \t", target), text_.size());
    const size_t end = std::min(text_.find_first_of(" \t\r\n;|&", begin), text_.size());
    typed += (begin > target ? " " : "") + std::string(text_.substr(begin, end - begin));
    at_ = end;
    command_.redirections += (command_.redirections.empty() ? "" : " ") + typed;
  }

  void end_word() {
    if (in_word_ && array_.empty()) {
      const bool begins = begins_command_;
      begins_command_ = variables_.read_word(word_, begins);
      keywords_ += begins && begins_command_;
    }
    if (in_word_) command_.words.push_back(word_);
    word_.clear();
    in_word_ = false;
  }

  // Makes NAME=value of a command that sets a variable in a notebook, csh, cmd or PowerShell.
  static void write_as_setting(std::vector<std::string>& words) {
    constexpr std::string_view kSetters = "export %env %set_env set setenv";
    constexpr std::string_view kDeclarations = "local declare typeset readonly";
    constexpr std::string_view kPowerShell = "$env:";
    if (words.size() < 2 && !(words.size() == 1 && words[0].starts_with(kPowerShell))) return;
    if (words[0].starts_with(kPowerShell)) {
      words[0].erase(0, kPowerShell.size());
      if (words.size() == 3 && words[1] == "=") words = {cat(words[0], "=", words[2])};
    } else if (is_one_of(kDeclarations, words[0])) {
      std::erase_if(words, [](const std::string& word) { return !is_assignment(word); });
    } else if (is_one_of(kSetters, words[0])) {
      const bool has_value = words.size() == 3 && words[0] != "export" && words[0] != "set";
      const bool is_setting = words[0] == "export" || is_assignment(words[1]);
      if (is_setting) {
        words.erase(words.begin());
      } else if (has_value) {
        words = {cat(words[1], "=", words[2])};
      }
    }
  }

  // A command that gives variables values which the text does not show: read, unset, let, getopts.
  void change_variables(std::span<const std::string> words) {
    const auto first = std::ranges::find_if_not(words, is_assignment);
    if (first == words.end()) return;
    const std::string& name = *first;
    const std::span rest(first + 1, words.end());
    if (name == "let") {
      for (const std::string& word : rest) count_up(word);
    }
    const bool reads = is_one_of("read mapfile readarray getopts", name);
    if (!reads && name != "unset" && !(name == "printf" && is_one_of(rest, "-v"))) return;
    for (const std::string& word : rest) {
      const std::string array = word + "[@]";
      if (name == "unset") variables_.unset(word);
      if (name == "unset") continue;
      if (variables_.find(word) != nullptr) variables_.set_unknown(word);
      if (variables_.find(array) != nullptr) variables_.set_unknown(array);
    }
  }

  // Whether a command may end with another exit code than 0, as tests do.
  static bool may_fail(std::span<const std::string> words) {
    constexpr std::string_view kSafe =
        "cd pushd popd mkdir source . export echo printf set module conda pip pip3 git";
    return !words.empty() && !is_assignment(words[0]) && !is_one_of(kSafe, words[0]);
  }

  // The name of the function whose body follows: "f(", "f (", "function f(". Empty: there is none.
  static std::string function_in(std::span<const std::string> words) {
    if (words.empty() || words.size() > 3 || !words.back().ends_with('(')) return "";
    const std::string& name = words[0] == "function" && words.size() > 1 ? words[1] : words[0];
    return name.substr(0, name.find('('));
  }

  void end_command(std::string_view sign) {
    end_word();
    ShellCommand command = std::exchange(command_, {});
    std::vector<std::string>& words = command.words;
    const bool is_empty = words.empty();
    const std::string function = sign == ")" ? function_in(words) : "";
    const size_t keywords = std::min(std::exchange(keywords_, 0), words.size());
    begins_command_ = true;
    std::vector<std::string> rest(words.begin() + static_cast<ptrdiff_t>(keywords), words.end());
    const bool fails = may_fail(rest) || (rest.empty() && keywords > 0);
    change_variables(rest);
    if (!rest.empty()) variables_.call(rest[0]);
    write_as_setting(rest);
    const bool sets = keywords == 0 || (!rest.empty() && is_assignment(rest[0]));
    if (sets) words = std::move(rest);
    take_command(std::move(command));
    if (!function.empty()) {
      variables_.begin_function(function);
    } else {
      variables_.end_command(sign, is_empty, fails);
    }
  }

  void take_command(ShellCommand command) {
    split_environment(command);
    if (!command.words.empty()) {
      for (const DeviceVariable& variable : kDeviceVariables) {
        const ShellVariable* set = variables_.find(std::string(variable.name));
        if (set == nullptr || set->value.size() > kLongestSetting) continue;
        command.earlier_settings.push_back(cat(variable.name, "=", set->value));
        command.chosen.insert(set->chosen.begin(), set->chosen.end());
      }
      command.batch_options = batch_options_;
      // `sbatch <<EOF` and `cat <<EOF > job.sh` begin the text of a job.
      begins_job_ = command.redirections.find("<<") != std::string::npos;
      if (begins_job_) batch_options_.clear();
      return commands_.push_back(std::move(command));
    }
    for (const std::string& setting : command.environment) {
      const size_t equals = setting.find('=');
      const bool appends = setting[equals - 1] == '+';
      const std::string name = setting.substr(0, equals - (appends ? 1 : 0));
      const ShellVariable* known = appends ? variables_.find(name) : nullptr;
      ShellVariable variable = known == nullptr ? ShellVariable() : *known;
      count_inserted(variable.value.size());
      variable.value += setting.substr(equals + 1);
      variable.chosen.insert(command.chosen.begin(), command.chosen.end());
      variables_.set(name, std::move(variable));
    }
  }

  std::string_view text_;
  bool is_windows_;
  size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;  // also of an empty word, ""
  ShellCommand command_;
  std::vector<ShellCommand> commands_;
  ShellVariables variables_;
  std::string array_;    // the one whose items are read; empty: none
  ShellVariable items_;  // of this array
  size_t array_begin_ = 0;
  bool begins_command_ = true;  // the next word may begin a command
  size_t keywords_ = 0;         // of the shell's grammar, at the beginning of the command
  size_t inserted_ = 0;         // bytes that variables have put into words
  bool begins_job_ = true;      // whether no command of a batch job is read yet
  std::vector<std::string> batch_options_;
};

}  // namespace

bool is_assignment(const std::string& word) {
  size_t end = std::min(word.find('='), word.size());
  if (end == word.size() || end == 0 || (word[0] >= '0' && word[0] <= '9')) return false;
  if (word[end - 1] == '+') --end;
  return end > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<ptrdiff_t>(end), is_name_character);
}

std::vector<ShellCommand> shell_commands(std::string_view text,
                                         const std::map<std::string, std::string>& variables,
                                         const std::set<std::string>& chosen) {
  return ShellReader(text, variables, chosen).read();
}

void split_environment(ShellCommand& command) {
  constexpr std::string_view kWrappers = "env time nohup exec sudo do then else";
  std::vector<std::string>& words = command.words;
  const bool is_marked = !words.empty() && words[0].size() > 1 && words[0][0] == '!';
  if (is_marked) words[0].erase(0, 1);  // in a notebook
  const auto inner = std::ranges::find_if_not(
      words, [&](const std::string& word) { return is_one_of(kWrappers, last_part(word)); });
  if (inner != words.end() && is_assignment(*inner)) words.erase(words.begin(), inner);
  const auto program = std::ranges::find_if_not(command.words, is_assignment);
  command.environment.assign(command.words.begin(), program);
  command.words.erase(command.words.begin(), program);
}

namespace {

// The words that stand before a shell are copied for each of its commands.
constexpr size_t kMostCopiedBytes = size_t{16} << 20;

// The variables that options in front of a shell set: `docker run -e NAME=VALUE`, `mpirun -x`.
std::map<std::string, std::string> variables_in(std::span<const std::string> words) {
  std::map<std::string, std::string> variables;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string setting;
    if (words[i].starts_with("--env=")) setting = words[i].substr(6);
    const bool is_option = words[i] == "-e" || words[i] == "--env" || words[i] == "-x";
    if (is_option && i + 1 < words.size()) setting = words[i + 1];
    if (!is_assignment(setting)) continue;
    const size_t equals = setting.find('=');
    variables[setting.substr(0, equals)] = setting.substr(equals + 1);
  }
  return variables;
}

bool is_shell(std::string_view word) {
  const std::string_view name = last_part(word);
  return name == "sh" || name == "bash" || name == "zsh" || name == "dash";
}

}  // namespace

std::vector<ShellCommand> inner_commands(const ShellCommand& command) {
  const std::vector<std::string>& words = command.words;
  for (size_t i = words.size(); i-- > 0;) {
    std::string_view text = words[i];
    if (text.starts_with('-')) text.remove_prefix(std::min(text.find('=') + 1, text.size()));
    if (text.find_first_of(" \t\n") == text.npos) continue;
    size_t prefix = i;
    while (prefix > 0 && words[prefix - 1].starts_with('-')) --prefix;  // "-c", "-lc"
    if (prefix == 0 || !is_shell(words[prefix - 1])) {
      prefix = i;
    } else {
      --prefix;
    }
    std::vector<ShellCommand> inner;
    std::map<std::string, std::string> variables = variables_in(std::span(words).first(prefix));
    for (const auto* settings : {&command.environment, &command.earlier_settings}) {
      for (const std::string& setting : *settings) {
        const size_t equals = std::min(setting.find('='), setting.size() - 1);
        variables.try_emplace(setting.substr(0, equals), setting.substr(equals + 1));
      }
    }
    try {
      inner = shell_commands(text, variables);
    } catch (const Error&) {  // prose, such as "it's done"
      return {};
    }
    size_t bytes = sizeof(ShellCommand);
    for (size_t word = 0; word < prefix; ++word) bytes += words[word].size();
    for (const std::string& setting : command.environment) bytes += setting.size();
    if (bytes > kMostCopiedBytes / std::max<size_t>(inner.size(), 1)) return {};
    for (ShellCommand& one : inner) {
      one.words.insert(one.words.begin(), words.begin(),
                       words.begin() + static_cast<ptrdiff_t>(prefix));
      one.environment.insert(one.environment.begin(), command.environment.begin(),
                             command.environment.end());
      one.earlier_settings.insert(one.earlier_settings.begin(), command.earlier_settings.begin(),
                                  command.earlier_settings.end());
      one.batch_options = command.batch_options;
      one.chosen.insert(command.chosen.begin(), command.chosen.end());
    }
    return inner;
  }
  return {};
}

}  // namespace berth
