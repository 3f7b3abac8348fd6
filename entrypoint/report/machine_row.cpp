#include "entrypoint/report/machine_row.h"

#include <utility>

#include "entrypoint/platform/machine_description.h"
#include "entrypoint/report/bar_line.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::string percent(double share) { return number_text("%.0f %%", 100 * share); }

std::string work_text(const JobReport& job) {
  return job.token_budget > 0 ? cat("batches of at most ", job.token_budget, " tokens")
                              : cat("batch ", job.batch_size);
}

}  // namespace

std::string machine_table_head() {
  return "| machine | work | kernels | examples/s | tokens/s | GFLOP/s | of peak | CPU | memory | "
         "an epoch | its cost |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |";
}

std::string to_text(const MachineRow& row) {
  std::string gflops, of_peak, epoch, cost;
  if (row.flops_per_second > 0) gflops = number_text("%.3g", row.flops_per_second * 1e-9);
  if (row.flops_per_second > 0 && row.peak_flops_per_second > 0) {
    of_peak = percent(row.flops_per_second / row.peak_flops_per_second);
  }
  if (row.epoch_examples > 0 && row.examples_per_second > 0) {
    const double epoch_s = static_cast<double>(row.epoch_examples) / row.examples_per_second;
    epoch = duration_text(epoch_s);
    if (row.price_per_hour) cost = number_text("%.3g", *row.price_per_hour * epoch_s / 3600);
  }
  return cat("| ", row.machine, " | ", row.work, " | ", row.kernels, " | ",
             number_text("%.3g", row.examples_per_second), " | ",
             number_text("%.0f", row.tokens_per_second), " | ", gflops, " | ", of_peak, " | ",
             row.cpu_share ? percent(*row.cpu_share) : "", " | ",
             row.memory_bytes > 0 ? human_bytes(row.memory_bytes) : "", " | ", epoch, " | ", cost,
             " |");
}

MachineRowLog::MachineRowLog(std::optional<double> price_per_hour, UsageSource usage,
                             Clock steady_clock)
    : price_per_hour_(price_per_hour), source_(std::move(usage)), clock_(std::move(steady_clock)) {}

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
  log_info(cat("this training as a row of the table that --mode bench prints: ", to_text(row)));
}

}  // namespace berth
