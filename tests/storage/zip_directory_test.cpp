#include <gtest/gtest.h>

#include <string>

#include "storage/base/error.h"
#include "storage/libarchive_reader.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::string number(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

// The numbers of the end record. The defaults are the truth.
struct Lies {
  int entries = 0, entries_here = 0, size = 0, begin = 0;  // are added to it
};

// A zip file of empty entries named "a".
std::string zip_of(uint64_t entries, const Lies& lies = {}, bool zip64 = false) {
  std::string file, table;
  for (uint64_t i = 0; i < entries; ++i) {
    table += "PK\1\2" + std::string(24, '\0') + number(1, 2) + number(2, 2) + number(3, 2) +
             std::string(12, '\0') + "a" + "xx" + "yyy";
    file += "PK\3\4" + std::string(22, '\0') + number(1, 2) + number(0, 2) + "a";
  }
  const uint64_t begin = file.size() + lies.begin, size = table.size() + lies.size;
  const uint64_t here = entries + lies.entries_here, all = entries + lies.entries;
  file += table;
  if (!zip64) {
    return file + "PK\5\6" + std::string(4, '\0') + number(here, 2) + number(all, 2) +
           number(size, 4) + number(begin, 4) + number(0, 2);
  }
  const uint64_t at = file.size();
  file += "PK\6\6" + std::string(20, '\0') + number(here, 8) + number(all, 8) + number(size, 8) +
          number(begin, 8);
  file += "PK\6\7" + number(0, 4) + number(at, 8) + number(1, 4);
  return file + "PK\5\6" + std::string(4, '\0') + number(0xFFFF, 2) + number(0xFFFF, 2) +
         number(0xFFFFFFFF, 4) + number(0xFFFFFFFF, 4) + number(0, 2);
}

auto refused(const std::string& says) { return ThrowsCode(Code::kCorrupt, says); }

TEST(ZipDirectory, AWholeFileIsAccepted) {
  for (const bool zip64 : {false, true}) {
    for (const uint64_t entries : {1, 2, 300}) require_whole_zip(zip_of(entries, {}, zip64));
  }
  require_whole_zip(zip_of(0));
  require_whole_zip(zip_of(0xFFFF));  // the number that also means zip64
}

TEST(ZipDirectory, AnEndRecordThatLiesIsRefused) {
  for (const bool zip64 : {false, true}) {
    for (const int by : {-1, 1}) {
      EXPECT_THAT([&] { require_whole_zip(zip_of(3, {.entries = by}, zip64)); },
                  refused("has 3 entries, but its end record says"));
      EXPECT_THAT([&] { require_whole_zip(zip_of(3, {.entries_here = by}, zip64)); },
                  refused("has 3 entries"));
      EXPECT_THAT([&] { require_whole_zip(zip_of(3, {.size = by}, zip64)); },
                  refused("another size or place"));
      EXPECT_THAT([&] { require_whole_zip(zip_of(3, {.begin = by}, zip64)); },
                  refused("another size or place"));
    }
    EXPECT_THAT([&] { require_whole_zip(zip_of(3, {.size = -52, .begin = 52}, zip64)); },
                refused("has 2 entries"));
  }
}

TEST(ZipDirectory, EveryDamageOfTheTableIsRefusedOrHarmless) {
  const std::string whole = zip_of(3);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    try {
      require_whole_zip(damaged);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kCorrupt);
    }
  }
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT([&] { require_whole_zip(whole.substr(0, size)); }, refused(""));
  }
}

TEST(ZipDirectory, BytesAroundTheArchiveAreRefused) {
  EXPECT_THAT([] { require_whole_zip("x" + zip_of(1)); }, refused("before or after"));
  EXPECT_THAT([] { require_whole_zip(zip_of(1) + "x"); }, refused("before or after"));
}

}  // namespace
}  // namespace berth
