#include "entrypoint/report/machine_row.h"

#include <algorithm>
#include <utility>

#include "entrypoint/platform/this_process.h"
#include "entrypoint/report/progress_lines.h"
#include "storage/base/log.h"
#include "storage/base/process_resources.h"
#include "storage/base/text.h"
#include "storage/base/thread_pool.h"

namespace berth {

UsageSource usage_of_this_process() {
  const std::optional<MemoryLimit> limit = memory_limit();
  return {.usage = [] { return process_usage(); },
          .cpus = available_threads(),
          .memory_limit_bytes = limit ? limit->size_bytes : 0};
}

UsageMeter::UsageMeter(UsageSource source, Clock steady_clock)
    : source_(std::move(source)), clock_(std::move(steady_clock)) {
  if (!source_.usage) return;
  first_ = last_ = source_.usage();
  last_s_ = clock_();
}

std::optional<UsageMeter::Reading> UsageMeter::read() {
  if (!source_.usage) return std::nullopt;
  const ProcessUsage now = source_.usage();
  const double now_s = clock_();
  Reading reading{.resident_bytes = now.resident_bytes,
                  .peak_resident_bytes = now.peak_resident_bytes};
  const double had_s = (now_s - last_s_) * source_.cpus;
  if (had_s > 0) reading.cpu_share = std::clamp((now.cpu_s - last_.cpu_s) / had_s, 0.0, 1.0);
  if (now.throttled_s && first_.throttled_s) {
    reading.throttled_s = *now.throttled_s - *first_.throttled_s;
  }
  if (source_.memory_limit_bytes > 0) {
    reading.memory_share =
        static_cast<double>(now.resident_bytes) / static_cast<double>(source_.memory_limit_bytes);
  }
  last_ = now;
  last_s_ = now_s;
  return reading;
}

namespace {

std::string percent(double share) { return number_text("%.0f %%", 100 * share); }

std::string work_text(const JobReport& job) {
  return job.token_budget > 0 ? cat("batches of at most ", job.token_budget, " tokens")
                              : cat("batch ", job.batch_size);
}

// The cells of a row. A value that is not known is empty.
struct Cells {
  explicit Cells(const MachineRow& row)
      : examples(number_text("%.3g", row.examples_per_second)),
        tokens(number_text("%.0f", row.tokens_per_second)) {
    if (row.flops_per_second > 0) {
      gflops = number_text("%.3g", row.flops_per_second * 1e-9);
      if (row.peak_flops_per_second > 0) {
        of_peak = percent(row.flops_per_second / row.peak_flops_per_second);
      }
    }
    if (row.cpu_share) cpu = percent(*row.cpu_share);
    if (row.memory_bytes > 0) memory = human_bytes(row.memory_bytes);
    if (row.epoch_examples == 0 || row.examples_per_second <= 0) return;
    const double epoch_s = static_cast<double>(row.epoch_examples) / row.examples_per_second;
    epoch = duration_text(epoch_s);
    if (row.price_per_hour) cost = number_text("%.3g", *row.price_per_hour * epoch_s / 3600);
  }

  std::string examples, tokens, gflops, of_peak, cpu, memory, epoch, cost;
};

}  // namespace

std::string machine_table_head() {
  return "| machine | work | kernels | examples/s | tokens/s | GFLOP/s | of peak | CPU | memory | "
         "an epoch | its cost |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |";
}

std::string to_text(const MachineRow& row) {
  const Cells cells(row);
  return cat("| ", row.machine, " | ", row.work, " | ", row.kernels, " | ", cells.examples, " | ",
             cells.tokens, " | ", cells.gflops, " | ", cells.of_peak, " | ", cells.cpu, " | ",
             cells.memory, " | ", cells.epoch, " | ", cells.cost, " |");
}

std::string speed_sentence(const MachineRow& row) {
  const Cells cells(row);
  std::string text = cat("speed: ", cells.examples, " examples/s, ", cells.tokens, " tokens/s");
  if (!cells.gflops.empty()) text += cat(", ", cells.gflops, " GFLOP/s");
  if (!cells.of_peak.empty()) text += cat(" (", cells.of_peak, " of the peak)");
  if (!cells.cpu.empty()) text += cat(", ", cells.cpu, " of the CPUs");
  if (!cells.memory.empty()) text += cat(", ", cells.memory);
  if (!cells.epoch.empty()) text += cat("; an epoch takes ", cells.epoch);
  if (!cells.cost.empty()) text += cat(" and costs ", cells.cost);
  return text;
}

MachineRowLog::MachineRowLog(MachineRowForm form, std::optional<double> price_per_hour,
                             UsageSource usage, Clock steady_clock)
    : form_(form),
      price_per_hour_(price_per_hour),
      source_(std::move(usage)),
      clock_(std::move(steady_clock)) {}

void MachineRowLog::on_start(const JobReport& report) {
  job_ = report;
  last_.reset();
  usage_.emplace(source_, clock_);
}

void MachineRowLog::on_step(const StepReport& report) { last_ = report; }

void MachineRowLog::on_finish() {
  if (!last_ || !usage_) return;
  MachineRow row{.machine = processor_name(),
                 .work = work_text(job_),
                 .kernels = job_.kernels,
                 .examples_per_second = last_->examples_per_second,
                 .tokens_per_second = last_->tokens_per_second,
                 .flops_per_second = last_->flops_per_second,
                 .peak_flops_per_second = last_->peak_flops_per_second,
                 .epoch_examples = job_.train_examples,
                 .price_per_hour = price_per_hour_};
  if (const auto reading = usage_->read()) {
    row.cpu_share = reading->cpu_share;
    row.memory_bytes = reading->peak_resident_bytes;
  }
  log_info(form_ == MachineRowForm::kSentence
               ? speed_sentence(row)
               : cat("this training as a row of the table of --mode bench: ", to_text(row)));
}

}  // namespace berth
