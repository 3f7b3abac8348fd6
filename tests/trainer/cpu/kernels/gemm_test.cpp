// Products that several threads make at the same time.

#include "trainer/cpu/kernels/gemm.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

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

}  // namespace
}  // namespace berth
