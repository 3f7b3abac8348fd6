#include "trainer/corpus/duplicates.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <set>
#include <string>

namespace berth {
namespace {

std::vector<Word> random_words(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Word> words(count);
  for (Word& word : words) word = {random(), 5};
  return words;
}

// The Jaccard similarity of the 5-grams of two texts.
double exact_similarity(const std::vector<Word>& a, const std::vector<Word>& b) {
  const auto shingles = [](const std::vector<Word>& words) {
    std::set<std::vector<uint64_t>> all;
    for (size_t i = 0; i + 5 <= words.size(); ++i) {
      std::vector<uint64_t> run;
      for (size_t k = i; k < i + 5; ++k) run.push_back(words[k].hash);
      all.insert(run);
    }
    return all;
  };
  const auto of_a = shingles(a), of_b = shingles(b);
  size_t common = 0;
  for (const auto& run : of_a) common += of_b.count(run);
  return static_cast<double>(common) / static_cast<double>(of_a.size() + of_b.size() - common);
}

TEST(MinHash, EstimatesTheSimilarity) {
  MinHasher hasher;
  for (const size_t changed : {0, 1, 2, 4, 8, 16}) {
    double error = 0;
    const int trials = 40;
    for (int trial = 0; trial < trials; ++trial) {
      const auto a = random_words(300, 10 * static_cast<uint64_t>(trial) + changed);
      auto b = a;
      for (size_t i = 0; i < changed; ++i) b[i * 300 / (changed + 1) + 7].hash += 1;
      error += similarity(hasher.of(a), hasher.of(b)) - exact_similarity(a, b);
    }
    EXPECT_NEAR(error / trials, 0, 0.02) << changed;
  }
}

TEST(MinHash, DifferentTextsAreNotSimilar) {
  MinHasher hasher;
  double sum = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    sum += similarity(hasher.of(random_words(50, 2 * i)), hasher.of(random_words(50, 2 * i + 1)));
  }
  EXPECT_LT(sum / 100, 0.01);
}

TEST(MinHash, TakesTextsOfFewWords) {
  MinHasher hasher;
  const auto two = random_words(2, 1);
  EXPECT_EQ(similarity(hasher.of(two), hasher.of(two)), 1);
  EXPECT_LT(similarity(hasher.of(two), hasher.of(random_words(2, 2))), 0.1);
}

TEST(NearDuplicateIndex, FindsTheTextThatWasAddedBefore) {
  MinHasher hasher;
  NearDuplicateIndex index(0.8);
  for (uint64_t i = 0; i < 500; ++i) {
    EXPECT_FALSE(index.find_or_add(hasher.of(random_words(200, i)))) << i;
  }
  int found = 0;
  for (uint64_t i = 0; i < 500; ++i) {
    auto words = random_words(200, i);
    words[100].hash += 1;  // a similarity of 0.95
    const auto similar = index.find_or_add(hasher.of(words));
    if (!similar) continue;
    ++found;
    EXPECT_EQ(similar->index, i);
    EXPECT_NEAR(similar->similarity, 0.95, 0.12);
  }
  EXPECT_GE(found, 499);
  EXPECT_LE(index.memory_bytes(), 4096 * 128 + index.size() * 171);  // sketches and tables
}

TEST(NearDuplicateIndex, KeepsTextsBelowTheThreshold) {
  MinHasher hasher;
  NearDuplicateIndex index(0.8);
  for (uint64_t i = 0; i < 100; ++i) {
    auto words = random_words(200, i);
    EXPECT_FALSE(index.find_or_add(hasher.of(words)));
    for (size_t k = 0; k < 200; k += 10) words[k].hash += 1;  // a similarity of about 0.33
    EXPECT_FALSE(index.find_or_add(hasher.of(words)));
  }
}

// Texts with one band in common and nothing else: each is compared with at most 64 others.
TEST(NearDuplicateIndex, AFormLetterDoesNotFillATable) {
  NearDuplicateIndex index(0.8);
  std::mt19937 random(5);
  for (size_t i = 0; i < 1'000; ++i) {
    MinHash sketch;
    for (uint8_t& byte : sketch) byte = static_cast<uint8_t>(random());
    std::fill_n(sketch.begin(), NearDuplicateIndex::kRows, uint8_t{7});
    EXPECT_FALSE(index.find_or_add(sketch));
    EXPECT_TRUE(i > 10 || index.find_or_add(sketch));
  }
  EXPECT_EQ(index.size(), 1'000u);
}

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
