#include "trainer/tasks/line_fields.h"

#include "storage/base/printable.h"

namespace berth {
namespace {

// Line ends of two characters stay, as other line ends do.
std::string shown(std::string_view text) {
  constexpr std::string_view kLineEnd = "\r\n";
  std::string lines;
  for (size_t end = 0; (end = text.find(kLineEnd)) != text.npos;) {
    lines += printable_lines(text.substr(0, end)).append(kLineEnd);
    text.remove_prefix(end + kLineEnd.size());
  }
  return lines + printable_lines(text);
}

}  // namespace

std::string one_field(std::string text) {
  text = shown(text);
  if (text.find_first_of("\"\t\n\r") == std::string::npos) return text;
  std::string marked = "\"";
  for (const char c : text) marked.append(c == '"' ? 2 : 1, c);
  return marked + "\"";
}

size_t end_of_line(std::string_view lines, size_t begin) {
  bool is_quoted = false;
  for (size_t i = begin; i < lines.size(); ++i) {
    if (lines[i] == '"') is_quoted = !is_quoted;
    if (lines[i] == '\n' && !is_quoted) return i + 1;
  }
  return lines.size();
}

}  // namespace berth
