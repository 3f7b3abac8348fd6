#include "entrypoint/report/terminal_line.h"

#include <utility>

namespace berth {
namespace {

constexpr const char* kErase = "\r\x1b[K";  // go to the first column and erase the line

}  // namespace

TerminalLine::TerminalLine(Write write, bool redraws)
    : write_(std::move(write)), redraws_(redraws) {}

TerminalLine::~TerminalLine() { show(""); }

void TerminalLine::show(const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (!redraws_ || text == shown_) return;
  write_(kErase + text);
  shown_ = text;
}

void TerminalLine::print(const std::string& line) {
  const std::lock_guard lock(mutex_);
  write_((shown_.empty() ? "" : kErase) + line + "\n" + shown_);
}

}  // namespace berth
