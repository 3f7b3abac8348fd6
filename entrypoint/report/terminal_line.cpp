#include "entrypoint/report/terminal_line.h"

#include <utility>

#include "storage/base/printable.h"

namespace berth {
namespace {

constexpr const char* kErase = "\r\x1b[K";  // go to the first column and erase the line

}  // namespace

TerminalLine::TerminalLine(Write write, bool redraws)
    : write_(std::move(write)), redraws_(redraws) {}

TerminalLine::~TerminalLine() { show(""); }

void TerminalLine::show(const std::string& text) {
  std::string shown = printable(text);
  const std::lock_guard lock(mutex_);
  if (!redraws_ || shown == shown_) return;
  write_(kErase + shown);
  shown_ = std::move(shown);
}

void TerminalLine::print(const std::string& line) {
  const std::lock_guard lock(mutex_);
  write_((shown_.empty() ? "" : kErase) + printable(line) + "\n" + shown_);
}

}  // namespace berth
