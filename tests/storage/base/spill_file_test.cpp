#include "storage/base/spill_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::string read(const SpillFile& file, uint64_t offset, size_t size) {
  std::string text(size, '\0');
  file.read_at(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST(SpillFile, ReadsWhatItWrote) {
  SpillFile file;
  EXPECT_EQ(file.size(), 0u);
  file.append(as_bytes("one "));
  file.append(as_bytes("two"));
  EXPECT_EQ(file.size(), 7u);
  EXPECT_EQ(read(file, 0, 7), "one two");
  EXPECT_EQ(read(file, 4, 2), "tw");
  file.append(as_bytes("!"));
  EXPECT_EQ(read(file, 7, 1), "!");
}

TEST(SpillFile, BeyondItsEndThereIsNothing) {
  SpillFile file;
  file.append(as_bytes("abc"));
  EXPECT_THAT([&] { read(file, 2, 2); }, ThrowsCode(Code::kUnavailable, "temporary file"));
}

TEST(SpillFile, NamesTheDirectoryThatCannotBeWritten) {
  const char* before = getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/proc", 1);
  EXPECT_THAT([] { SpillFile(); }, ThrowsCode(Code::kNotPermitted, "/proc"));
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace
}  // namespace berth
