#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"

namespace berth {

// Parses a list of texts or numbers and returns its members as texts; nullopt where `text` is not a
// list. It is written as JSON, as pandas writes a Python list into a CSV (['a', "it's", 1]), or as
// NumPy does (blanks in place of commas).
std::optional<std::vector<std::string>> parse_text_list(std::string_view text);

// The same for a tuple of Python with a comma in it, (1, 'a'), or an empty tuple. Also for an array
// as NumPy and PyTorch show it: array([1, 0]), tensor([1., 0.], dtype=torch.float64), and for a
// vector of R: c("a", "b").
std::optional<std::vector<std::string>> parse_tuple(std::string_view text);

// The IOB tags of a sentence that one mark separates, a comma, ';' or '|': "B-PER, O, O". nullopt:
// the text is something else.
std::optional<std::vector<std::string>> parse_joined_tags(std::string_view text);

// Whether a text is a list or array that NumPy has shortened: [0 0 0 ... 0 0 1]. Its members are
// lost.
bool is_shortened_list(std::string_view text);

// Whether the text begins with the bracket of a list or object, and whether brackets enclose it.
// Such a text is meant as a list, even if it cannot be parsed. So it must not be split at blanks or
// commas.
bool begins_list(std::string_view text);
bool is_bracketed(std::string_view text);

// Reads a text as Python writes it. A reader returns false where the text is something else.
class PythonText {
 public:
  explicit PythonText(std::string_view text) : text_(text) {}

  size_t at() const { return at_; }
  bool is_at_end() const { return at_ == text_.size(); }
  bool is_at_quote() const { return next() == '\'' || next() == '"'; }
  // The next character to read; zero at the end.
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c);
  bool take(std::string_view word);
  void skip_blanks();
  // Reads up to a blank or one of `ends`.
  std::string_view read_until(std::string_view ends);
  // Appends a text between quotes, whose escapes are undone.
  bool read_quoted(std::string& part);

 private:
  bool read_escape(std::string& part);
  bool read_code_point(size_t digits, std::string& part);

  const std::string_view text_;
  size_t at_ = 0;
};

// A value that Python shows as [(0, 9, 'PER')] or {'start': 0}, as pandas writes it into a CSV.
// Tuples and NumPy's array([1, 2], dtype=int32) become lists. Discarded: it is no such value, or
// nested more than 32 times.
Json parse_python(std::string_view text);

}  // namespace berth
