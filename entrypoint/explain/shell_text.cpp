#include "entrypoint/explain/shell_text.h"

#include <algorithm>
#include <map>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

bool is_name_character(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// "NAME=value".
bool is_assignment(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0 || (word[0] >= '0' && word[0] <= '9')) {
    return false;
  }
  return std::all_of(word.begin(), word.begin() + static_cast<ptrdiff_t>(equals),
                     is_name_character);
}

class ShellReader {
 public:
  explicit ShellReader(std::string_view text) : text_(text) {}

  std::vector<ShellCommand> read() {
    while (at_ < text_.size()) read_next();
    end_command();
    return std::move(commands_);
  }

 private:
  char next(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0; }

  void read_next() {
    const char c = next();
    if (c == '\\') return read_escape();
    if (c == '\'') return read_single_quotes();
    if (c == '"') return read_double_quotes();
    if (c == '$') return read_variable();
    if (c == '#' && !in_word_) return skip_comment();
    if (c == '<' || c == '>') return read_redirection();
    ++at_;
    if (c == ' ' || c == '\t' || c == '\r') return end_word();
    if (c == '\n' || c == ';' || c == '|' || c == '&') return end_command();
    append(c);
  }

  void append(char c) {
    word_ += c;
    in_word_ = true;
  }

  // A backslash at the end of a line continues it, also where blanks follow it by mistake.
  void read_escape() {
    const size_t end = std::min(text_.find_first_not_of(" \t\r", at_ + 1), text_.size());
    if (end < text_.size() && text_[end] == '\n') {
      at_ = end + 1;
      return end_word();
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
        read_variable();
        continue;
      }
      const bool is_escape =
          next() == '\\' && std::string_view("\"\\$`\n").find(next(1)) != std::string_view::npos;
      if (is_escape) ++at_;
      if (at_ >= text_.size()) refuse_open_quote();
      if (!is_escape || next() != '\n') word_ += next();
      ++at_;
    }
    ++at_;
  }

  // $NAME, ${NAME}, or what a command substitution would be, which stays as it is.
  void read_variable() {
    in_word_ = true;
    size_t end = at_ + 1;
    if (next(1) == '(' || next(1) == '{') {
      end = text_.find(next(1) == '(' ? ')' : '}', at_);
      end = end == std::string_view::npos ? text_.size() : end + 1;
    } else {
      while (end < text_.size() && is_name_character(text_[end])) ++end;
    }
    const std::string_view typed = text_.substr(at_, end - at_);
    std::string name(typed.substr(1));
    if (name.starts_with('{') && name.ends_with('}')) name = name.substr(1, name.size() - 2);
    const auto set = variables_.find(name);
    word_ += set == variables_.end() ? typed : std::string_view(set->second);
    at_ = end;
  }

  void skip_comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  // "> file", "2>&1", ">> file", "< file".
  void read_redirection() {
    const bool has_descriptor =
        !word_.empty() && word_.find_first_not_of("0123456789") == std::string::npos;
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
    if (in_word_) command_.words.push_back(word_);
    word_.clear();
    in_word_ = false;
  }

  void end_command() {
    end_word();
    ShellCommand command = std::exchange(command_, {});
    std::vector<std::string>& words = command.words;
    if (!words.empty() && words[0] == "export") words.erase(words.begin());
    split_environment(command);
    const auto devices = variables_.find("CUDA_VISIBLE_DEVICES");
    if (devices != variables_.end()) command.visible_devices = devices->second;
    if (!words.empty()) return commands_.push_back(std::move(command));
    for (const std::string& setting : command.environment) {
      const size_t equals = setting.find('=');
      variables_[setting.substr(0, equals)] = setting.substr(equals + 1);
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;  // also of an empty word, ""
  ShellCommand command_;
  std::vector<ShellCommand> commands_;
  std::map<std::string, std::string> variables_;
};

}  // namespace

std::vector<ShellCommand> shell_commands(std::string_view text) { return ShellReader(text).read(); }

void split_environment(ShellCommand& command) {
  const auto program = std::ranges::find_if_not(command.words, is_assignment);
  command.environment.assign(command.words.begin(), program);
  command.words.erase(command.words.begin(), program);
}

}  // namespace berth
