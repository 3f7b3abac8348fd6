#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "storage/base/clock.h"
#include "storage/base/process_resources.h"
#include "trainer/loop/observer.h"

namespace berth {

// The resources that this process may use, and a way to read its use.
struct UsageSource {
  std::function<ProcessUsage()> usage{};  // null: nothing is known
  int cpus = 1;
  uint64_t memory_limit_bytes = 0;  // 0: not known
};

// This process on this machine, within the limits of its container.
UsageSource usage_of_this_process();

// How much of the machine the process used between two readings. Not thread-safe.
class UsageMeter {
 public:
  struct Reading {
    // Processor time since the reading before, as a share of the time of all CPUs, from 0 to 1.
    // nullopt: no time has passed.
    std::optional<double> cpu_share{};
    std::optional<double> throttled_s{};  // since the meter was made; see ProcessUsage
    uint64_t resident_bytes = 0, peak_resident_bytes = 0;
    std::optional<double> memory_share{};  // resident_bytes, of the memory that may be used
  };

  // Takes the first reading, if there is something to read.
  explicit UsageMeter(UsageSource source, Clock steady_clock = steady_clock_s);

  // nullopt: nothing is known.
  std::optional<Reading> read();

 private:
  const UsageSource source_;
  const Clock clock_;
  ProcessUsage first_, last_;
  double last_s_ = 0;
};

// How fast a machine did some work, as a row of the Markdown table by which people compare machines
// and choose one.
struct MachineRow {
  std::string machine{};  // the processor
  std::string work{};     // "BERT-base, 32 x 128 tokens", or "batch 32"
  std::string kernels{};  // EngineInfo::description
  double examples_per_second = 0, tokens_per_second = 0;
  double flops_per_second = 0, peak_flops_per_second = 0;  // 0: not known
  std::optional<double> cpu_share{};                       // UsageMeter::Reading
  uint64_t memory_bytes = 0;                               // the most of the process; 0: not known
  int64_t epoch_examples = 0;                              // 0: there is no epoch
  std::optional<double> price_per_hour{};                  // of the machine, in any currency
};

// The two lines above the rows.
std::string machine_table_head();
// "| AMD EPYC | batch 32 | cpu-fp32-avx2, ... | 5.4 | 254 | 152 | 84 % | 99 % | 1.8 GiB | 6:10:22 |
// 1.17 |". A cell whose value is not known is empty.
std::string to_text(const MachineRow& row);
// The same for people: "speed: 5.4 examples/s, 254 tokens/s, 152 GFLOP/s (84 % of the peak), 99 %
// of the CPUs, 1.8 GiB; an epoch takes 6:10:22 and costs 1.17". Unknown values are left out.
std::string speed_sentence(const MachineRow& row);

enum class MachineRowForm { kRow, kSentence };

// Logs the speed of a training on this machine at its end. Only the time of this process counts.
class MachineRowLog final : public Observer {
 public:
  explicit MachineRowLog(MachineRowForm form, std::optional<double> price_per_hour,
                         UsageSource usage = usage_of_this_process(),
                         Clock steady_clock = steady_clock_s);

  void on_start(const JobReport& report) override;
  void on_step(const StepReport& report) override;
  void on_finish() override;

 private:
  const MachineRowForm form_;
  const std::optional<double> price_per_hour_;
  const UsageSource source_;
  const Clock clock_;
  std::optional<UsageMeter> usage_;  // from the beginning of the loop
  JobReport job_;
  std::optional<StepReport> last_;
};

}  // namespace berth
