#include "trainer/tasks/line_fields.h"

namespace berth {

std::string one_field(std::string text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

std::string quoted_field(std::string text) {
  text = one_field(std::move(text));
  if (text.find('"') == std::string::npos) return text;
  std::string marked = "\"";
  for (const char c : text) marked.append(c == '"' ? 2 : 1, c);
  return marked + "\"";
}

}  // namespace berth
