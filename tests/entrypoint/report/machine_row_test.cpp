#include "entrypoint/report/machine_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/captured_log.h"

namespace berth {
namespace {

MachineRow filled_row() {
  return {.machine = "AMD EPYC",
          .work = "batch 32",
          .kernels = "cpu-fp32-avx2",
          .examples_per_second = 5.4321,
          .tokens_per_second = 254.2,
          .flops_per_second = 1.524e11,
          .peak_flops_per_second = 2e11,
          .cpu_share = 0.987,
          .memory_bytes = uint64_t{3} << 29,
          .epoch_examples = 5432,
          .price_per_hour = 0.36};
}

TEST(MachineRow, HasACellForEachHeading) {
  EXPECT_EQ(to_text(filled_row()),
            "| AMD EPYC | batch 32 | cpu-fp32-avx2 | 5.43 | 254 | 152 | 76 % | 99 % | 1.5 GiB | "
            "16:40 | 0.1 |");
  const std::string head = machine_table_head();
  const std::string empty = to_text(MachineRow{});
  EXPECT_EQ(std::count(head.begin(), head.end(), '|'),
            2 * std::count(empty.begin(), empty.end(), '|'));
}

TEST(MachineRow, IsASentenceForPeople) {
  EXPECT_EQ(speed_sentence(filled_row()),
            "speed: 5.43 examples/s, 254 tokens/s, 152 GFLOP/s (76 % of the peak), 99 % of the "
            "CPUs, 1.5 GiB; an epoch takes 16:40 and costs 0.1");
  EXPECT_EQ(speed_sentence({.examples_per_second = 2, .tokens_per_second = 10}),
            "speed: 2 examples/s, 10 tokens/s");
}

TEST(MachineRow, IsLoggedAtTheEndOfATraining) {
  CapturedLog log;
  double now_s = 0;
  ProcessUsage used;
  MachineRowLog row(MachineRowForm::kRow, 7.2, {.usage = [&] { return used; }, .cpus = 2},
                    [&] { return now_s; });
  row.on_start({.train_examples = 1000, .batch_size = 16, .kernels = "k"});
  row.on_step({.step = 1, .examples_per_second = 10, .tokens_per_second = 300});
  now_s = 10;
  used = {.cpu_s = 15, .peak_resident_bytes = 1 << 20};
  row.on_finish();
  EXPECT_THAT(log.lines(), testing::HasSubstr(
                               "| batch 16 | k | 10 | 300 |  |  | 75 % | 1.0 MiB | 1:40 | 0.2 |"));
}

TEST(MachineRow, IsNotLoggedWithoutAnUpdate) {
  CapturedLog log;
  MachineRowLog row(MachineRowForm::kSentence, {}, {});
  row.on_start({.train_examples = 1000});
  row.on_finish();
  EXPECT_EQ(log.lines(), "");
}

}  // namespace
}  // namespace berth
