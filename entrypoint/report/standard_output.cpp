#include "entrypoint/report/standard_output.h"

#include <cerrno>
#include <cstdio>

#include "storage/file_error.h"

namespace berth {
namespace {

[[noreturn]] void fail() { throw file_error(errno, "write", "standard output"); }

}  // namespace

void StandardOutput::write(Bytes bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) fail();
}

Stat StandardOutput::close() {
  if (std::fflush(stdout) != 0) fail();
  return {.name = "standard output"};
}

}  // namespace berth
