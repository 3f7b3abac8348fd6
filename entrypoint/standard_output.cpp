#include "entrypoint/standard_output.h"

#include <cstdio>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

[[noreturn]] void fail() { throw Error(Code::kNoSpace, "cannot be written", "standard output"); }

}  // namespace

void StandardOutput::write(Bytes bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) fail();
}

Stat StandardOutput::close() {
  if (std::fflush(stdout) != 0) fail();
  return {.name = "standard output"};
}

void print_line(std::string_view text) {
  StandardOutput output;
  output.write(as_bytes(cat(text, "\n")));
  output.close();
}

}  // namespace berth
