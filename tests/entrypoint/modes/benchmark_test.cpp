#include "entrypoint/modes/benchmark.h"

#include <gtest/gtest.h>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"
#include "trainer/cpu/cpu_device.h"

namespace berth {
namespace {

const BenchmarkOptions kBrief{.most_of_a_batch_s = 1e-9, .least_of_a_row_s = 0};

TEST(BenchmarkBatch, TakesAtMostTheGivenTime) {
  EXPECT_EQ(benchmark_batch(1e9, 1e12, 4), 32);
  EXPECT_EQ(benchmark_batch(1e11, 1e11, 4), 2);  // 2.8 s of work at 70 % of the peak
  EXPECT_EQ(benchmark_batch(1e15, 1e9, 4), 1);
  EXPECT_EQ(benchmark_batch(1e15, 0, 4), 8);
}

TEST(MeasureWork, TrainsAndPredicts) {
  const auto device = make_cpu_device(1);
  for (const bool trains : {true, false}) {
    const auto row =
        measure_work({.size = "tiny", .length = "8", .trains = trains}, *device, kBrief);
    ASSERT_TRUE(row);
    EXPECT_EQ(row->work,
              trains ? "BERT-tiny training, 1 x 8 tokens" : "BERT-tiny prediction, 1 x 8 tokens");
    EXPECT_GT(row->examples_per_second, 0);
    EXPECT_NEAR(row->tokens_per_second, 8 * row->examples_per_second, 1e-6);
    EXPECT_GT(row->flops_per_second, 0);
  }
}

TEST(MeasureWork, LeavesOutWhatDoesNotFit) {
  const auto device = make_cpu_device(1);
  BenchmarkOptions options = kBrief;
  options.limits.host = MemoryLimit{1 << 20, "a test's limit"};
  EXPECT_FALSE(measure_work({.size = "tiny", .length = "8"}, *device, options));
}

TEST(MeasureWork, CanBeStopped) {
  const auto device = make_cpu_device(1);
  BenchmarkOptions options = kBrief;
  options.stop_point = [] { throw Error(Code::kStopped, "stopped"); };
  EXPECT_THAT([&] { measure_work({.size = "tiny", .length = "8"}, *device, options); },
              ThrowsCode(Code::kStopped));
}

}  // namespace
}  // namespace berth
