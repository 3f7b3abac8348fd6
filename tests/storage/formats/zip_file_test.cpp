#include "storage/formats/zip_file.h"

#include <gtest/gtest.h>

#include "tests/support/every_damage.h"
#include "tests/support/stored_zip_bytes.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

void read_zip(const std::string& file) { const ZipFile zip(as_bytes(file)); }

TEST(ZipFile, GivesItsEntriesByName) {
  const std::string file = stored_zip({{"m/b", "second"}, {"m/a", "first"}, {"m/none", ""}});
  const ZipFile zip(as_bytes(file));
  ASSERT_EQ(zip.entries().size(), 3u);
  EXPECT_EQ(as_text(zip.find("m/a")->data), "first");
  EXPECT_EQ(as_text(zip.find("m/b")->data), "second");
  EXPECT_EQ(zip.find("m/b")->crc, crc32(as_bytes("second")));
  EXPECT_TRUE(zip.find("m/none")->data.empty());
  EXPECT_EQ(zip.find("a"), nullptr);
}

TEST(ZipFile, MayBeEmpty) { EXPECT_NO_THROW(read_zip(stored_zip({}))); }

TEST(ZipFile, TakesACommentAtTheEnd) {
  std::string file = stored_zip({{"a", "first"}});
  file.replace(file.size() - 2, 2, std::string("\3\0", 2) + "end");
  EXPECT_NO_THROW(read_zip(file));
}

TEST(ZipFile, EveryPrefixIsRefused) {
  const std::string file = stored_zip({{"a", "first"}, {"b", "second"}});
  EXPECT_THAT(accepted_prefixes(as_bytes(file), [](Bytes b) { const ZipFile zip(b); }),
              testing::IsEmpty());
}

TEST(ZipFile, RefusesOtherCompressionsAndEncryptedEntries) {
  EXPECT_NO_THROW(read_zip(stored_zip({{.name = "a", .data = "x", .method = 8}})));
  EXPECT_THAT([] { read_zip(stored_zip({{.name = "a", .data = "x", .method = 12}})); },
              ThrowsCode(Code::kBadData, "\"a\": is compressed by another method"));
  EXPECT_THAT([] { read_zip(stored_zip({{.name = "a", .data = "x", .flags = 1}})); },
              ThrowsCode(Code::kBadData, "\"a\": is encrypted"));
}

TEST(ZipFile, RefusesADuplicateName) {
  EXPECT_THAT(
      [] {
        read_zip(stored_zip({{"a", "x"}, {"a", "y"}}));
      },
      ThrowsCode(Code::kCorrupt, "\"a\": appears twice"));
}

// Zip bombs do this: the data of one entry is the header of another, or several entries share their
// data.
TEST(ZipFile, RefusesEntriesThatOverlap) {
  const std::string inner = stored_zip({{"b", "x"}});
  EXPECT_THAT(
      [&] {
        read_zip(stored_zip({{"a", inner}, {.name = "b", .data = "x", .header = 31}}));
      },
      ThrowsCode(Code::kCorrupt, "\"a\": overlaps entry \"b\""));
  EXPECT_THAT(
      [] {
        read_zip(stored_zip({{"a", "x"}, {.name = "a", .data = "x", .header = 0}}));
      },
      ThrowsCode(Code::kCorrupt, "overlaps"));
}

TEST(ZipFile, RefusesSizesThatReachIntoTheDirectory) {
  EXPECT_THAT([] { read_zip(stored_zip({{.name = "a", .data = "x", .size = 100}})); },
              ThrowsCode(Code::kCorrupt, "\"a\": reaches into the directory"));
  EXPECT_THAT([] { read_zip(stored_zip({{.name = "a", .data = "x", .header = 0x7FFFFFFF}})); },
              ThrowsCode(Code::kCorrupt, "\"a\": begins after the directory"));
}

TEST(ZipFile, RefusesAWrongCountOfEntries) {
  std::string file = stored_zip({{"a", "x"}});
  file[file.size() - 12] = 2;
  EXPECT_THAT([&] { read_zip(file); }, ThrowsCode(Code::kCorrupt, "1 entries, not 2"));
}

}  // namespace
}  // namespace berth
