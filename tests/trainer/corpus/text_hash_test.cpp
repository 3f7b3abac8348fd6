#include "trainer/corpus/text_hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <string>

namespace berth {
namespace {

TEST(TextHash, DiffersForTextsThatDifferInOneBit) {
  const std::string text = "the quick brown fox jumps over";
  const TextHash hash = hash_text(text);
  for (size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string flipped = text;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    const TextHash other = hash_text(flipped);
    EXPECT_GT(std::popcount(hash.low ^ other.low), 10) << bit;
    EXPECT_GT(std::popcount(hash.high ^ other.high), 10) << bit;
  }
}

TEST(TextHash, DiffersForTextsThatDifferInLength) {
  std::set<std::pair<uint64_t, uint64_t>> seen;
  for (size_t size = 0; size < 100; ++size) {
    const TextHash hash = hash_text(std::string(size, '\0'));
    EXPECT_TRUE(seen.emplace(hash.low, hash.high).second) << size;
  }
}

TEST(TextHashSet, KnowsWhatItHasSeen) {
  TextHashSet set;
  for (uint64_t i = 0; i < 10'000; ++i) EXPECT_TRUE(set.insert({i, i * i})) << i;
  for (uint64_t i = 0; i < 10'000; ++i) EXPECT_FALSE(set.insert({i, i * i})) << i;
  EXPECT_TRUE(set.insert({5, 0}));
  EXPECT_EQ(set.size(), 10'001u);
  EXPECT_LE(set.memory_bytes() / set.size(), 43u);
}

}  // namespace
}  // namespace berth
