#include "trainer/tasks/line_fields.h"

namespace berth {

std::string one_field(std::string text) {
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
