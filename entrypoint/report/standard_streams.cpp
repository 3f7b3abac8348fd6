#include "entrypoint/report/standard_streams.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"

namespace berth {

void write_standard_error(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool standard_error_takes_text(double timeout_s) {
  pollfd descriptor{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&descriptor, 1, static_cast<int>(timeout_s * 1000)) == 1 &&
         (descriptor.revents & POLLOUT) != 0;
}

bool standard_error_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

std::optional<int> terminal_columns(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

namespace {

[[noreturn]] void fail() {
  if (errno == EPIPE) throw OutputClosed();
  throw file_error(errno, "write", "standard output");
}

}  // namespace

void StandardOutput::write(Bytes bytes) {
  static const bool on_terminal = ::isatty(STDOUT_FILENO) == 1;
  if (on_terminal) {
    const std::string text = printable_lines(as_text(bytes));
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail();
  } else if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
    fail();
  }
}

Stat StandardOutput::close() {
  if (std::fflush(stdout) != 0) fail();
  return {.name = "standard output"};
}

namespace {

constexpr std::string_view kIndent = "    ";
constexpr const char* kErase = "\r\x1b[K";  // go to the first column and erase the line

// `line` in lines of at most `columns`, of which all but the first are indented. A longer word is
// not cut, so that a path can still be copied. A code point is taken to be one column wide.
std::string wrapped(const std::string& line, int columns) {
  const auto most = static_cast<size_t>(std::max(columns, 20));
  if (code_point_count(line) <= most) return line;
  std::string text;
  size_t column = 0;
  for (size_t begin = 0; begin < line.size();) {
    // A word with the blanks before it.
    const size_t word = std::min(line.find_first_not_of(' ', begin), line.size());
    const size_t end = std::min(line.find(' ', word), line.size());
    const std::string_view piece = std::string_view(line).substr(begin, end - begin);
    if (column > 0 && column + code_point_count(piece) > most) {
      text.append("\n").append(kIndent).append(line, word, end - word);
      column = kIndent.size() + code_point_count(std::string_view(line).substr(word, end - word));
    } else {
      text.append(piece);
      column += code_point_count(piece);
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

namespace {

struct LevelNames {
  const char *prefix, *severity;
};
constexpr LevelNames kLevelNames[] = {
    {"error: ", "ERROR"}, {"warning: ", "WARNING"}, {"", "INFO"}, {"debug: ", "DEBUG"}};

}  // namespace

bool wants_text(const std::string& log_format, bool is_terminal) {
  return log_format == "text" || (log_format == "auto" && is_terminal);
}

LogSink text_log_sink(LogLevel least_urgent, TerminalLine& line) {
  return [least_urgent, &line](LogLevel level, const std::string& text) {
    if (level <= least_urgent) line.print(kLevelNames[static_cast<size_t>(level)].prefix + text);
  };
}

LogSink json_log_sink(LogLevel least_urgent, Write write, Clock wall_clock) {
  return [=](LogLevel level, const std::string& text) {
    if (level > least_urgent) return;
    const OrderedJson object = {
        {"time", iso_time(wall_clock())},
        {"event", "log"},
        {"severity", kLevelNames[static_cast<size_t>(level)].severity},
        {"message", text},
    };
    write(printable_json(to_text(object)) + "\n");
  };
}

}  // namespace berth
