#include "storage/base/spill_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

// What of the mapping is in this process's memory, by Linux's table of mappings (proc(5), smaps).
uint64_t resident_KiB(Bytes mapping) {
  char begin[32];
  std::snprintf(begin, sizeof(begin), "%lx-", reinterpret_cast<unsigned long>(mapping.data()));
  std::ifstream table("/proc/self/smaps");
  bool is_found = false;
  for (std::string line; std::getline(table, line);) {
    is_found |= line.starts_with(begin);
    if (is_found && line.starts_with("Rss:")) return std::stoul(line.substr(4));
  }
  ADD_FAILURE() << "no mapping at " << begin;
  return 0;
}

TEST(MappedPages, ReadingAndReleasingRangeAfterRangeLeavesNothingInMemory) {
  constexpr uint64_t kSize = 8 << 20, kRange = 100'000;
  SpillFile file;
  file.append(std::vector<std::byte>(kSize, std::byte{1}));
  const Bytes mapping = file.map();
  uint64_t sum = 0, most = 0;
  for (uint64_t at = 0; at < kSize; at += kRange) {
    for (const std::byte byte : mapping.subspan(at, std::min(kRange, kSize - at))) {
      sum += std::to_integer<uint64_t>(byte);
    }
    most = std::max(most, resident_KiB(mapping));
    release_pages(mapping, at, kRange);
  }
  EXPECT_EQ(sum, kSize);
  EXPECT_GE(most, kRange >> 10);
  EXPECT_LE(most, 4 << 10);
  EXPECT_EQ(resident_KiB(mapping), 0);
}

TEST(MappedPages, RangesBeyondTheEndAreHarmless) {
  SpillFile file;
  file.append(std::vector<std::byte>(10'000, std::byte{1}));
  const Bytes mapping = file.map();
  release_pages(mapping, UINT64_MAX, 1);
  release_pages(mapping, 20'000, UINT64_MAX);
  release_pages(mapping, 5'000, UINT64_MAX);
  EXPECT_EQ(mapping[9'999], std::byte{1});
}

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
