// Products that several threads make at the same time.

#include "trainer/cpu/kernels/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "storage/base/text.h"

namespace berth {
namespace {

// Small integers, whose fp32 sum is the same in every order of addition.
std::vector<float> integers(size_t count, int salt) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>((i * 7 + salt) % 11) - 5;
  return values;
}

// With OpenBLAS's own buffers, about one product in a thousand was wrong here.
TEST(GemmTest, ThreadsThatMultiplyAtOnceDoNotDisturbEachOther) {
  constexpr int kThreads = 4, kProducts = 40'000;
  constexpr int64_t kSize = 48;
  std::atomic<int> wrong = 0;
  const auto work = [&wrong](int salt) {
    const std::vector<float> a = integers(kSize * kSize, salt), b = integers(kSize * kSize, 3);
    std::vector<float> c(kSize * kSize), expected;
    for (int i = 0; i < kProducts; ++i) {
      multiply({.m = kSize,
                .n = kSize,
                .k = kSize,
                .a = {a.data(), kSize},
                .b = {b.data(), kSize, true},
                .c = c.data(),
                .c_stride = kSize});
      if (expected.empty()) expected = c;
      if (c != expected) ++wrong;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  }
  EXPECT_EQ(wrong, 0);
}

std::vector<Tile> small_tiles(int threads, int64_t m, int64_t n, int64_t k) {
  ThreadPool pool(threads);
  std::mutex mutex;
  std::vector<Tile> tiles;
  for_each_small_tile(pool, m, n, k, {12, 32}, {192, 768}, [&](const Tile& tile, int) {
    const std::lock_guard lock(mutex);
    tiles.push_back(tile);
  });
  return tiles;
}

TEST(SmallTiles, CoverEachElementOnce) {
  for (const int threads : {1, 2, 5}) {
    for (const int64_t m : {0, 1, 12, 47, 193, 700}) {
      for (const int64_t n : {0, 1, 33, 768, 1600}) {
        for (const int64_t k : {0, 1, 900}) {
          std::vector<int> covered(static_cast<size_t>(m * n));
          for (const Tile& tile : small_tiles(threads, m, n, k)) {
            EXPECT_TRUE(tile.rows > 0 && tile.rows <= 192 && tile.row % 12 == 0);
            EXPECT_TRUE(tile.columns > 0 && tile.columns <= 768 && tile.column % 32 == 0);
            for (int64_t i = tile.row; i < tile.row + tile.rows; ++i) {
              for (int64_t j = tile.column; j < tile.column + tile.columns; ++j) {
                ++covered[static_cast<size_t>(i * n + j)];
              }
            }
          }
          EXPECT_EQ(std::ranges::count(covered, 1), m * n) << cat(threads, " ", m, "x", n);
        }
      }
    }
  }
}

TEST(SmallTiles, GiveEachWokenThreadTheSameNumber) {
  EXPECT_EQ(small_tiles(4, 12, 32, 10).size(), 1u);
  EXPECT_EQ(small_tiles(4, 1024, 768, 768).size(), 8u);
  EXPECT_EQ(small_tiles(4, 416, 768, 768).size(), 4u);
  EXPECT_EQ(small_tiles(6, 100, 768, 768).size(), 6u);  // two strips of rows, three of columns
  EXPECT_EQ(small_tiles(4, 12, 768, 768).size(),
            4u);  // too few rows to cut, so the columns are cut
}

}  // namespace
}  // namespace berth
