#include "entrypoint/report/standard_output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "storage/base/printable.h"
#include "storage/file_error.h"

namespace berth {
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

}  // namespace berth
