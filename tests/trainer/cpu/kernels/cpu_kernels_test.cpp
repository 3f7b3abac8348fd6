#include "trainer/cpu/kernels/cpu_kernels.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "tests/support/throws_code.h"
#include "tests/trainer/cpu/kernels/kernels_fixture.h"
#include "trainer/cpu/kernels/gemm.h"
#include "trainer/cpu/kernels/instruction_set.h"

namespace berth {
namespace {

using testing::HasSubstr;

TEST(CpuKernels, DescribeThemselves) {
  ThreadPool one(1), two(2);
  EXPECT_THAT(make_cpu_kernels(one, "baseline")->description(),
              testing::MatchesRegex("cpu-fp32-baseline, OpenBLAS .+, 1 thread"));
  EXPECT_THAT(make_cpu_kernels(two)->description(), HasSubstr("2 threads"));
  EXPECT_THAT(make_cpu_kernels(one, "baseline", Precision::kBf16)->description(),
              HasSubstr("cpu-bf16-emulated-baseline, bf16 operands"));
}

// OpenBLAS gives "Prescott", which has SSE3 alone, to a CPU whose model number it does not know.
TEST(CpuKernels, TakeTheInstructionsOfACpuThatOpenBlasDoesNotKnow) {
  if (supported_loops().front()->instruction_set == std::string_view("baseline")) {
    GTEST_SKIP() << "this CPU has no AVX2";
  }
  EXPECT_NE(blas_core(), "Prescott");
}

TEST(CpuKernels, RefuseAnUnknownInstructionSet) {
  ThreadPool pool(1);
  EXPECT_THAT([&] { make_cpu_kernels(pool, "mmx"); }, ThrowsCode(Code::kUsage, "mmx"));
}

// OpenBLAS's own buffers would not stand this: gemm.h.
TEST(CpuKernels, MultiplyOnManyThreadsAtOnce) {
  constexpr int kThreads = 64;
  constexpr int64_t kSize = 96;
  const std::vector<float> a(kSize * kSize, 1.5f), b(kSize * kSize, 2.0f);
  std::vector<std::vector<float>> c(kThreads, std::vector<float>(kSize * kSize));
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 20; ++round) {
          multiply({.m = kSize,
                    .n = kSize,
                    .k = kSize,
                    .a = {a.data(), kSize},
                    .b = {b.data(), kSize, true},
                    .c = c[static_cast<size_t>(i)].data(),
                    .c_stride = kSize});
        }
      });
    }
  }
  for (const std::vector<float>& product : c) {
    EXPECT_TRUE(
        std::all_of(product.begin(), product.end(), [](float x) { return x == 3.0f * kSize; }));
  }
}

TEST(CpuKernels, AddTensors) {
  ThreadPool pool(2);
  const auto kernels = make_cpu_kernels(pool);
  constexpr int64_t kCount = 100003;
  std::vector<float> x(kCount, 1.5f), y(kCount);
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i);
  const auto view = [](std::vector<float>& values) {
    return Tensor{
        .data = reinterpret_cast<std::byte*>(values.data()), .rank = 1, .shape = {kCount}};
  };
  kernels->add(view(x), view(y));
  EXPECT_EQ(y.front(), 1.5f);
  EXPECT_EQ(y.back(), kCount - 1 + 1.5f);
  EXPECT_EQ(x.back(), 1.5f);
}

// Dropout keeps the same elements on every instruction set.
TEST(CpuKernels, DropTheSameElementsOnEveryInstructionSet) {
  ThreadPool pool(2);
  std::vector<float> first;
  for (const CpuLoops* loops : supported_loops()) {
    std::vector<float> x(5 * 333, 1.0f);
    const DropoutDraw draw{
        .key = {1, 2}, .first_row = 3, .tokens = nullptr, .threshold = 20000, .scale = 2};
    loops->dropout(x.data(), draw, 5, 333, x.data());
    if (first.empty()) first = x;
    EXPECT_EQ(x, first) << loops->instruction_set;
  }
}

}  // namespace
}  // namespace berth
