#include "entrypoint/report/json_lines.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/printable.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// `value` with seven digits, which is the precision of fp32. null if it is not finite.
OrderedJson number(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return std::strtod(text, nullptr);
}

// `message` is the text that a console of logs shows.
OrderedJson event(const char* name, const Clock& wall_clock, const std::string& message) {
  return {{"time", iso_time(wall_clock())},
          {"event", name},
          {"severity", "INFO"},
          {"message", message}};
}

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

// "loss 0.25, accuracy 0.75"
std::string scores(double loss, const std::map<std::string, double>& metrics) {
  std::string text = cat("loss ", short_number(loss));
  for (const auto& [name, value] : metrics) text += cat(", ", name, " ", short_number(value));
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
      cat(report.split, " after update ", report.step, ": ", scores(report.loss, report.metrics)));
  line["step"] = report.step;
  line["epoch"] = number(report.epoch);
  line["split"] = report.split;
  line["examples"] = report.examples;
  line["loss"] = number(report.loss);
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
