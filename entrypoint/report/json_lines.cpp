#include "entrypoint/report/json_lines.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/printable.h"

namespace berth {
namespace {

// `value` with seven digits, which is the precision of fp32. null if it is not finite.
OrderedJson number(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.7g", value);
  return std::strtod(text, nullptr);
}

OrderedJson event(const char* name, const Clock& wall_clock) {
  return {{"time", iso_time(wall_clock())}, {"event", name}, {"severity", "INFO"}};
}

void write_line(const Write& write, const OrderedJson& object) {
  write(printable_json(to_text(object)) + "\n");
}

}  // namespace

JsonLines::JsonLines(Write write, Clock wall_clock)
    : write_(std::move(write)), wall_clock_(std::move(wall_clock)) {}

void JsonLines::on_start(const JobReport& report) {
  OrderedJson line = event("start", wall_clock_);
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
  OrderedJson line = event("step", wall_clock_);
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
  OrderedJson line = event("evaluation", wall_clock_);
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
    OrderedJson line = event("probe", wall_clock_);
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
  OrderedJson line = event("checkpoint", wall_clock_);
  line["step"] = report.step;
  line["where"] = report.where;
  line["size_bytes"] = report.size_bytes;
  line["seconds"] = number(report.seconds);
  write_line(write_, line);
}

void JsonLines::on_finish() { write_line(write_, event("finish", wall_clock_)); }

}  // namespace berth
