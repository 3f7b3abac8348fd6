#include "storage/hub/content_hash.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

std::string hash_of(std::string_view content, size_t digits) {
  ContentHash hash(std::string(digits, '0'), content.size());
  hash.update(as_bytes(content.substr(0, content.size() / 2)));
  hash.update(as_bytes(content.substr(content.size() / 2)));
  return hash.finish();
}

TEST(ContentHash, OfALargeFileIsSha256) {  // FIPS 180-4, example of one block
  EXPECT_EQ(hash_of("abc", 64), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(ContentHash, OfASmallFileIsGits) {  // printf 'hello\n' | git hash-object --stdin
  EXPECT_EQ(hash_of("hello\n", 40), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(hash_of("", 40), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

TEST(ContentHash, KnowsItsForms) {
  EXPECT_TRUE(ContentHash::is_one(std::string(64, 'a')));
  EXPECT_TRUE(ContentHash::is_one(std::string(40, '0')));
  EXPECT_FALSE(ContentHash::is_one(std::string(41, '0')));
  EXPECT_FALSE(ContentHash::is_one(std::string(40, 'A')));
  EXPECT_FALSE(ContentHash::is_one("../" + std::string(37, '0')));
}

}  // namespace
}  // namespace berth
