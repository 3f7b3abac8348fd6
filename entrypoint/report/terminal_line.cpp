#include "entrypoint/report/terminal_line.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "storage/base/printable.h"

namespace berth {
namespace {

constexpr std::string_view kIndent = "    ";
constexpr const char* kErase = "\r\x1b[K";  // go to the first column and erase the line

// The number of code points, each of which is taken to be one column wide.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xc0) != 0x80; }));
}

// `line` in lines of at most `columns`, of which all but the first are indented. A longer word is
// not cut, so that a path can still be copied.
std::string wrapped(const std::string& line, int columns) {
  const auto most = static_cast<size_t>(std::max(columns, 20));
  if (width_of(line) <= most) return line;
  std::string text;
  size_t column = 0;
  for (size_t begin = 0; begin < line.size();) {
    // A word with the blanks before it.
    const size_t word = std::min(line.find_first_not_of(' ', begin), line.size());
    const size_t end = std::min(line.find(' ', word), line.size());
    const std::string_view piece = std::string_view(line).substr(begin, end - begin);
    if (column > 0 && column + width_of(piece) > most) {
      text.append("\n").append(kIndent).append(line, word, end - word);
      column = kIndent.size() + width_of(std::string_view(line).substr(word, end - word));
    } else {
      text.append(piece);
      column += width_of(piece);
    }
    begin = end;
  }
  return text;
}

}  // namespace

TerminalLine::TerminalLine(Write write, bool redraws, std::function<int()> columns)
    : write_(std::move(write)), redraws_(redraws), columns_(std::move(columns)) {}

TerminalLine::~TerminalLine() { show(""); }

void TerminalLine::show(const std::string& text) {
  std::string shown = printable(text);
  const std::lock_guard lock(mutex_);
  if (!redraws_ || shown == shown_) return;
  write_(kErase + shown);
  shown_ = std::move(shown);
}

void TerminalLine::print(const std::string& line) {
  std::string text = printable(line);
  if (columns_) text = wrapped(text, columns_());
  const std::lock_guard lock(mutex_);
  write_((shown_.empty() ? "" : kErase) + text + "\n" + shown_);
}

}  // namespace berth
