#include "entrypoint/report/progress.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "entrypoint/report/html/page.h"
#include "entrypoint/report/progress_lines.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/loop/training_state.h"

namespace berth {
namespace {

// `text` at the right end of `width` columns.
std::string padded(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

std::string four_digits(const std::optional<double>& value) {
  return value ? number_text("%.4f", *value) : "-";
}

}  // namespace

std::vector<std::string> EpochTable::lines(const EpochRow& row, int columns) {
  std::string heading, line;
  const auto add = [&](const std::string& name, const std::string& value, size_t width) {
    heading += padded(name, width);
    line += padded(value.empty() ? "-" : value, width);
  };
  add("epoch", row.epoch, 7);
  add("update", row.update, 12);
  add("time", row.time, 8);
  add("ex/s", row.rate, 7);
  add("loss", four_digits(row.loss), 8);
  add("eval loss", four_digits(row.eval_loss), 11);
  const auto most = static_cast<size_t>(std::max(columns, 60));
  for (const auto& [name, value] : row.metrics) {
    const size_t width = std::max<size_t>(name.size(), 6) + 2;
    if (heading.size() + width > most) break;
    add(name, number_text("%.4f", value), width);
  }
  std::vector<std::string> lines;
  if (heading != heading_) lines.push_back(heading_ = heading);
  lines.push_back(line);
  return lines;
}

namespace {

constexpr double kRedrawEvery_s = 0.1;
constexpr double kTolerance = 1e-6;  // for comparing fractional epochs

std::string evaluation_text(const EvaluationReport& report) {
  std::string text =
      report.has_loss ? "eval loss " + number_text("%.4f", report.loss) : "evaluation";
  for (const auto& [name, value] : report.metrics) {
    text += cat("  ", name, " ", number_text("%.4f", value));
  }
  if (report.scores != nullptr && !report.scores->note.empty()) {
    text += cat("  (", report.scores->note, ")");
  }
  if (report.majority_rate) {
    text +=
        cat("  (always the most frequent class: ", number_text("%.4f", *report.majority_rate), ")");
  }
  return text;
}

// The epoch as a line that says what each number is, for logs without headings.
std::string epoch_text(const EpochRow& row) {
  return cat("Epoch ", row.epoch, "  ", row.update, "  ", row.time, "  ", row.rate, " ex/s  loss ",
             number_text("%.4f", row.loss.value_or(0)));
}

// "32", or "at most 4096 tokens".
std::string size_of_update(const JobReport& job) {
  return job.token_budget > 0 ? "at most " + counted(job.token_budget, "token")
                              : cat(job.batch_size);
}

// "85.3 GFLOP/s", or "1.21 TFLOP/s (38% of peak)".
std::string flops_text(const StepReport& report) {
  const double giga = report.flops_per_second * 1e-9;
  std::string text =
      giga < 1000 ? number_text("%.3g GFLOP/s", giga) : number_text("%.3g TFLOP/s", giga * 1e-3);
  if (report.peak_flops_per_second > 0) {
    const double percent = 100 * report.flops_per_second / report.peak_flops_per_second;
    text += number_text(" (%.0f%% of peak)", percent);
  }
  return text;
}

// "at most 3.1 GiB of 15.7 GiB on the device".
std::string memory_text(const DeviceMemory& memory) {
  std::string text = memory.peak_in_use ? "at most " + human_bytes(*memory.peak_in_use)
                                        : human_bytes(memory.in_use);
  if (memory.limit) text += " of " + human_bytes(*memory.limit);
  return text + " on the device";
}

// The examples of an update. Where updates differ in size, it is the average so far.
double examples_of_update(const JobReport& job, const StepReport& report) {
  if (job.token_budget == 0 && !job.sizes_differ) return static_cast<double>(job.batch_size);
  return report.epoch * static_cast<double>(job.train_examples) / static_cast<double>(report.step);
}

}  // namespace

Progress::Progress(TerminalLine& line, std::function<int()> columns, Clock steady_clock)
    : line_(line), columns_(std::move(columns)), clock_(std::move(steady_clock)) {}

void Progress::on_start(const JobReport& report) {
  job_ = report;
  epoch_began_s_ = clock_();
  std::string text =
      cat(counted(report.train_examples, "example"), " to train on, ", report.eval_examples,
          " to evaluate on, ", counted(report.num_labels, "label"), "; ", report.parameters,
          " parameters; ", counted(report.total_steps, "update"), " of ", size_of_update(report),
          "; learning rate ", number_text("%.2g", report.peak_learning_rate));
  if (!report.learning_rate_is_for.empty()) text += cat(" (for ", report.learning_rate_is_for, ")");
  if (!report.kernels.empty()) text += cat("; kernels ", report.kernels);
  if (report.first_step > 0) text += cat("; resuming after update ", report.first_step);
  line_.print(text);
}

Progress::Position Progress::position_of(const StepReport& report) const {
  const auto total = static_cast<double>(report.total_steps);
  const double per_epoch = job_.epochs > 0    ? total / job_.epochs
                           : report.epoch > 0 ? static_cast<double>(report.step) / report.epoch
                                              : total;
  const auto boundary = [&](int64_t epoch) {
    return std::min<int64_t>(std::llround(static_cast<double>(epoch) * per_epoch),
                             report.total_steps);
  };
  const auto count = [](double epochs) {
    return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(epochs - kTolerance)));
  };
  Position position{};
  position.epoch = count(report.epoch);
  position.epochs = std::max(position.epoch, count(total / per_epoch));
  const int64_t before = boundary(position.epoch - 1);
  position.step =
      std::max<int64_t>(1, report.step - before);  // with a token budget, `before` is an estimate
  position.steps = std::max(position.step, boundary(position.epoch) - before);
  return position;
}

bool Progress::time_to_draw() {
  const double now = clock_();
  if (last_drawn_s_ >= 0 && now - last_drawn_s_ < kRedrawEvery_s) return false;
  last_drawn_s_ = now;
  return true;
}

void Progress::on_step(const StepReport& report) {
  print_finished_epoch();
  loss_sum_ += report.loss * report.loss_weight;
  loss_weight_ += report.loss_weight;
  const Position at = position_of(report);
  const std::string epoch = cat("Epoch ", at.epoch, "/", at.epochs);
  const std::string head = cat(epoch, "  ", at.step, "/", at.steps);
  const std::string rate = number_text("%.0f ex/s", report.examples_per_second);
  const double left_s = static_cast<double>(report.total_steps - report.step) *
                        examples_of_update(job_, report) / report.examples_per_second;
  std::vector<std::string> details = {rate, "ETA " + duration_text(left_s),
                                      "loss " + number_text("%.3f", report.interval_loss),
                                      "lr " + number_text("%.2g", report.learning_rate)};
  if (report.flops_per_second > 0) details.push_back(flops_text(report));
  if (report.device_memory) device_memory_ = memory_text(*report.device_memory);
  if (!device_memory_.empty()) details.push_back(device_memory_);
  const double fraction = static_cast<double>(at.step) / static_cast<double>(at.steps);
  if (line_.redraws()) {
    if (time_to_draw()) line_.show(bar_line(head, fraction, details, columns_()));
  } else if (report.log) {
    std::string text = head;
    for (const std::string& detail : details) text += "  " + detail;
    line_.print(text);
  }
  const bool epoch_ends = std::abs(report.epoch - std::round(report.epoch)) < kTolerance;
  if (epoch_ends || report.step == report.total_steps) {
    const double now = clock_();
    finished_epoch_ = EpochRow{.epoch = cat(at.epoch, "/", at.epochs),
                               .update = cat(at.step, "/", at.steps),
                               .time = duration_text(now - epoch_began_s_),
                               .rate = number_text("%.0f", report.examples_per_second),
                               .loss = mean_loss(loss_sum_, loss_weight_)};
    epoch_began_s_ = now;
    loss_sum_ = loss_weight_ = 0;
  }
}

void Progress::on_evaluating(int64_t done, int64_t total) {
  if (!line_.redraws() || !time_to_draw()) return;
  const double fraction =
      static_cast<double>(done) / static_cast<double>(std::max<int64_t>(total, 1));
  line_.show(bar_line(cat("Evaluating  ", done, "/", total), fraction, {}, columns_()));
}

void Progress::on_evaluation(const EvaluationReport& report) {
  EpochRow row = std::exchange(finished_epoch_, std::nullopt).value_or(EpochRow{});
  line_.show("");
  if (!line_.redraws()) {
    const std::string what = row.epoch.empty() ? cat("Update ", report.step) : epoch_text(row);
    return line_.print(what + "  " + evaluation_text(report));
  }
  if (row.update.empty()) row.update = cat(report.step);
  if (report.has_loss) row.eval_loss = report.loss;
  row.metrics = report.metrics;
  print(row);
}

void Progress::print(const EpochRow& row) {
  for (const std::string& line : table_.lines(row, columns_())) line_.print(line);
}

void Progress::on_probing(const std::string& name) {
  if (line_.redraws()) line_.show("Probing " + name);
}

void Progress::on_probes(const std::vector<ProbeReport>& reports) {
  line_.show("");
  for (const ProbeReport& report : reports) {
    std::string text = cat("Update ", report.step, "  probe ", report.name);
    for (const auto& [name, value] : report.metrics) {
      text += cat("  ", name, " ", number_text("%.4f", value));
    }
    text += cat("  (", counted(report.examples, "example"), ", ");
    line_.print(text + number_text("%.1f s)", report.seconds));
  }
}

void Progress::on_checkpoint(const CheckpointReport& report) {
  if (line_.redraws()) return;  // a line for each checkpoint would hide the epochs
  line_.print(cat("Checkpoint ", report.where, "  ", human_bytes(report.size_bytes), "  ",
                  number_text("%.1f s", report.seconds)));
}

void Progress::on_finish() {
  print_finished_epoch();
  line_.show("");
}

void Progress::print_finished_epoch() {
  if (!finished_epoch_) return;
  const EpochRow row = *std::exchange(finished_epoch_, std::nullopt);
  line_.show("");
  if (line_.redraws()) return print(row);
  line_.print(epoch_text(row));
}

namespace {

constexpr int64_t kFewestUpdates = 20;  // fewer say nothing about a trend
constexpr double kGrowth = 1.1;         // the last tenth's loss over the first one's
constexpr double kMargin = 0.005;       // of accuracy

std::string rate_text(double rate) { return number_text("%.2g", rate); }

}  // namespace

void Verdict::on_start(const JobReport& report) {
  first_step_ = report.first_step;
  peak_rate_ = report.peak_learning_rate;
  const int64_t updates = report.total_steps - report.first_step;
  part_ = updates < kFewestUpdates ? 0 : std::max<int64_t>(1, updates / 10);
  last_begins_ = report.total_steps - part_;
  first_loss_ = last_loss_ = 0;
  evaluation_.reset();
}

void Verdict::on_step(const StepReport& report) {
  if (report.step <= first_step_ + part_) first_loss_ += report.loss;
  if (report.step > last_begins_) last_loss_ += report.loss;
}

void Verdict::on_evaluation(const EvaluationReport& report) { evaluation_ = report; }

void Verdict::on_finish() {
  if (part_ > 0 && last_loss_ > kGrowth * first_loss_ && first_loss_ > 0) {
    const auto part = static_cast<double>(part_);
    log_warning(cat("the loss grew from ", number_text("%.3g", first_loss_ / part), " to ",
                    number_text("%.3g", last_loss_ / part), ": the learning rate ",
                    rate_text(peak_rate_), " is probably too high; try --learning-rate ",
                    rate_text(peak_rate_ / 10)));
    return;
  }
  const bool trained = peak_rate_ > 0;
  if (!trained || !evaluation_ || !evaluation_->majority_rate) return;
  const auto accuracy = evaluation_->metrics.find("accuracy");
  if (accuracy == evaluation_->metrics.end()) return;
  if (accuracy->second > *evaluation_->majority_rate + kMargin || accuracy->second > 0.99) return;
  log_warning(cat("the accuracy ", number_text("%.4f", accuracy->second),
                  " is no better than always predicting the most frequent class (",
                  number_text("%.4f", *evaluation_->majority_rate),
                  "): try more --epochs or another --learning-rate than ", rate_text(peak_rate_),
                  ", and look at the texts and labels with --mode inspect"));
}

namespace {

// With the precision of fp32.
double number(double value) { return rounded(value, 7); }

// `message` is the text that a console of logs shows.
OrderedJson event(const char* name, const Clock& wall_clock, const std::string& message) {
  return {{"time", iso_time(wall_clock())},
          {"event", name},
          {"severity", "INFO"},
          {"message", message}};
}

std::string short_number(double value) { return formatted("%.4g", value); }

// "loss 0.25, accuracy 0.75"
std::string scores(std::optional<double> loss, const std::map<std::string, double>& metrics) {
  std::string text = loss ? cat("loss ", short_number(*loss)) : "";
  for (const auto& [name, value] : metrics) {
    text += cat(text.empty() ? "" : ", ", name, " ", short_number(value));
  }
  return text;
}

void write_line(const Write& write, const OrderedJson& object) {
  write(printable_json(to_text(object)) + "\n");
}

}  // namespace

JsonLines::JsonLines(Write write, Clock wall_clock)
    : write_(std::move(write)), wall_clock_(std::move(wall_clock)) {}

void JsonLines::on_start(const JobReport& report) {
  OrderedJson line =
      event("start", wall_clock_,
            cat("training on ", report.train_examples, " examples, ", report.total_steps,
                " updates in ", short_number(report.epochs), " epochs"));
  line["train_examples"] = report.train_examples;
  line["eval_examples"] = report.eval_examples;
  line["num_labels"] = report.num_labels;
  line["parameters"] = report.parameters;
  line["first_step"] = report.first_step;
  line["total_steps"] = report.total_steps;
  line["batch_size"] = report.batch_size;
  if (report.token_budget > 0) line["token_budget"] = report.token_budget;
  line["epochs"] = number(report.epochs);
  line["peak_learning_rate"] = number(report.peak_learning_rate);
  line["kernels"] = report.kernels;
  write_line(write_, line);
}

void JsonLines::on_step(const StepReport& report) {
  if (!report.log) return;
  OrderedJson line = event("step", wall_clock_,
                           cat("update ", report.step, " of ", report.total_steps, ": loss ",
                               short_number(report.interval_loss), ", ",
                               short_number(report.examples_per_second), " examples/s"));
  line["step"] = report.step;
  line["total_steps"] = report.total_steps;
  line["epoch"] = number(report.epoch);
  line["loss"] = number(report.interval_loss);
  line["learning_rate"] = number(report.learning_rate);
  line["grad_norm"] = number(report.grad_norm);
  line["examples_per_second"] = number(report.examples_per_second);
  line["tokens_per_second"] = number(report.tokens_per_second);
  if (report.flops_per_second > 0) {
    line["flops_per_second"] = number(report.flops_per_second);
    if (report.peak_flops_per_second > 0) {
      line["flops_utilization"] = number(report.flops_per_second / report.peak_flops_per_second);
    }
  }
  if (const auto& memory = report.device_memory) {
    line["device_bytes_in_use"] = memory->in_use;
    if (memory->peak_in_use) line["device_peak_bytes_in_use"] = *memory->peak_in_use;
    if (memory->limit) line["device_limit_bytes"] = *memory->limit;
  }
  write_line(write_, line);
}

void JsonLines::on_evaluation(const EvaluationReport& report) {
  OrderedJson line = event(
      "evaluation", wall_clock_,
      cat(report.split, " after update ", report.step, ": ",
          scores(report.has_loss ? std::optional(report.loss) : std::nullopt, report.metrics)));
  line["step"] = report.step;
  line["epoch"] = number(report.epoch);
  line["split"] = report.split;
  line["examples"] = report.examples;
  if (report.has_loss) line["loss"] = number(report.loss);
  for (const auto& [name, value] : report.metrics) line[name] = number(value);
  if (report.majority_rate) line["majority_rate"] = number(*report.majority_rate);
  line["seconds"] = number(report.seconds);
  write_line(write_, line);
}

void JsonLines::on_probes(const std::vector<ProbeReport>& reports) {
  for (const ProbeReport& report : reports) {
    OrderedJson line = event("probe", wall_clock_,
                             cat("probe ", report.name, " after update ", report.step, ": ",
                                 scores(report.loss, report.metrics)));
    line["step"] = report.step;
    line["name"] = report.name;
    line["examples"] = report.examples;
    line["loss"] = number(report.loss);
    for (const auto& [name, value] : report.metrics) line[name] = number(value);
    line["seconds"] = number(report.seconds);
    write_line(write_, line);
  }
}

void JsonLines::on_checkpoint(const CheckpointReport& report) {
  OrderedJson line = event("checkpoint", wall_clock_,
                           cat("checkpoint of update ", report.step, " in ", report.where));
  line["step"] = report.step;
  line["where"] = report.where;
  line["size_bytes"] = report.size_bytes;
  line["seconds"] = number(report.seconds);
  write_line(write_, line);
}

void JsonLines::on_finish() {
  write_line(write_, event("finish", wall_clock_, "computing is finished"));
}

}  // namespace berth
