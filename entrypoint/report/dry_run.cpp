#include "entrypoint/report/dry_run.h"

#include <nlohmann/json.hpp>

#include "entrypoint/memory/memory_budget.h"
#include "entrypoint/report/progress_lines.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kNameWidth = 14;

std::string row(std::string_view name, const std::string& value) {
  const size_t space = name.size() < kNameWidth ? kNameWidth - name.size() : 1;
  return cat(name, std::string(space, ' '), value, "\n");
}

std::string rows(const MemoryParts& parts) {
  std::string text;
  for (const auto& [name, size_bytes] : parts) text += row(name, human_bytes(size_bytes));
  return text;
}

std::string limit_row(std::string_view name, const std::optional<MemoryLimit>& limit) {
  return limit ? row(name, cat(human_bytes(limit->size_bytes), ", ", limit->what)) : "";
}

// Texts are hostile: nothing in them may look like another line.
std::string preview_rows_text(const JobReport& job) {
  std::string text;
  for (const ShownRow& shown : job.rows) {
    text += "\n" + row("row", cat(shown.row));
    for (const std::string& of_row : shown.texts) text += row("  text", printable(of_row));
    text += row("  tokens", cat(shown.token_count, ": ", printable(shown.tokens))) +
            row("  label", printable(shown.label));
    if (!shown.cut.empty()) text += row("  cut", printable(shown.cut));
  }
  return text;
}

OrderedJson preview_objects(const JobReport& job) {
  OrderedJson rows = OrderedJson::array();
  for (const ShownRow& shown : job.rows) {
    rows.push_back({{"row", shown.row},
                    {"texts", shown.texts},
                    {"tokens", shown.tokens},
                    {"token_count", shown.token_count},
                    {"label", shown.label},
                    {"cut", shown.cut}});
  }
  return rows;
}

std::string disk_rows(const DiskBudget& disk) {
  if (disk.needs.empty()) return "";
  std::string text = "\n" + row("checkpoint", human_bytes(disk.use.checkpoint_bytes)) +
                     row("model", human_bytes(disk.use.model_bytes)) +
                     row("checkpoints", cat("at most ", disk.use.most_checkpoints, " at once"));
  for (const DiskNeed& need : disk.needs) {
    const bool is_sized = need.volume && need.volume->size_bytes > 0;
    text += row("disk", cat(human_bytes(need.most_bytes), " at most, ",
                            human_bytes(need.least_bytes), " at least, in ", need.place)) +
            (is_sized ? row("disk limit", cat(human_bytes(need.volume->size_bytes), ", of which ",
                                              human_bytes(need.volume->free_bytes), " are free"))
                      : "");
  }
  return text;
}

OrderedJson disk_object(const DiskBudget& disk) {
  OrderedJson places = OrderedJson::array();
  for (const DiskNeed& need : disk.needs) {
    OrderedJson place = {{"place", need.place},
                         {"most_bytes", need.most_bytes},
                         {"least_bytes", need.least_bytes},
                         {"size_bytes", nullptr},
                         {"free_bytes", nullptr}};
    if (need.volume && need.volume->size_bytes > 0) {
      place["size_bytes"] = need.volume->size_bytes;
      place["free_bytes"] = need.volume->free_bytes;
    }
    places.push_back(std::move(place));
  }
  return {{"checkpoint_bytes", disk.use.checkpoint_bytes},
          {"model_bytes", disk.use.model_bytes},
          {"most_checkpoints", disk.use.most_checkpoints},
          {"places", places}};
}

OrderedJson memory_object(const MemoryParts& parts, size_t total_bytes,
                          const std::optional<MemoryLimit>& limit) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, size_bytes] : parts) object[cat(name, "_bytes")] = size_bytes;
  object["total_bytes"] = total_bytes;
  object["limit_bytes"] = nullptr;
  if (limit) object["limit_bytes"] = limit->size_bytes;
  return object;
}

std::string most_of_update(const JobReport& job) {
  if (job.token_budget == 0) return counted(job.batch_size, "example");
  return cat("at most ", counted(job.token_budget, "token"), " and ",
             counted(job.batch_size, "example"));
}

std::string probe_rows(const JobReport& job) {
  std::string text;
  for (const ProbeFacts& probe : job.probes) {
    text += row(text.empty() ? "probes" : "",
                cat(probe.name, ": ", probe.task, ", ", counted(probe.updates, "update"), " on ",
                    counted(probe.train_examples, "example"), ", about ", probe.scored_examples,
                    " to score"));
  }
  return text.empty() ? "" : text + row("probed", cat(counted(job.probed_steps, "time")));
}

OrderedJson probe_objects(const JobReport& job) {
  OrderedJson probes = OrderedJson::array();
  for (const ProbeFacts& probe : job.probes) {
    probes.push_back({{"name", probe.name},
                      {"task", probe.task},
                      {"train_examples", probe.train_examples},
                      {"scored_examples", probe.scored_examples},
                      {"updates", probe.updates}});
  }
  return probes;
}

std::string rate_text(const JobReport& job) {
  const std::string rate = number_text("%.2g", job.peak_learning_rate);
  if (job.learning_rate_is_for.empty()) return rate;
  return cat(rate, " (for ", job.learning_rate_is_for, ")");
}

}  // namespace

std::string to_text(const DryRun& dry_run) {
  const JobReport& job = dry_run.job;
  std::string text = row("examples", cat(job.train_examples, " to train on, ", job.eval_examples,
                                         " to evaluate on, ", counted(job.num_labels, "label"))) +
                     row("updates", cat(job.total_steps, " of ", most_of_update(job))) +
                     row("learning rate", rate_text(job)) + row("parameters", cat(job.parameters)) +
                     row("kernels", job.kernels) + probe_rows(job);
  if (!job.cut_texts.empty()) text += row("texts", job.cut_texts);
  text += preview_rows_text(job) + "\n";
  text += rows(host_parts(dry_run.memory)) +
          row("memory", human_bytes(dry_run.memory.on_host()) + " at most") +
          limit_row("limit", dry_run.limits.host);
  if (dry_run.memory.engine.has_own_memory) {
    text +=
        "\n" + rows(device_parts(dry_run.memory)) +
        row("device memory", human_bytes(dry_run.memory.on_device()) + " at most, on each device") +
        limit_row("device limit", dry_run.limits.device);
  }
  return text + disk_rows(dry_run.disk);
}

std::string to_json(const DryRun& dry_run) {
  const JobReport& job = dry_run.job;
  const MemoryEstimate& estimate = dry_run.memory;
  OrderedJson memory = memory_object(host_parts(estimate), estimate.on_host(), dry_run.limits.host);
  if (estimate.engine.has_own_memory) {
    memory["device"] =
        memory_object(device_parts(estimate), estimate.on_device(), dry_run.limits.device);
  }
  OrderedJson object = {{"train_examples", job.train_examples},
                        {"eval_examples", job.eval_examples},
                        {"num_labels", job.num_labels},
                        {"total_steps", job.total_steps},
                        {"batch_size", job.batch_size},
                        {"token_budget", job.token_budget},
                        {"peak_learning_rate", job.peak_learning_rate},
                        {"parameters", job.parameters},
                        {"kernels", job.kernels}};
  if (!job.cut_texts.empty()) object["cut_texts"] = job.cut_texts;
  if (!job.probes.empty()) {
    object["probes"] = probe_objects(job);
    object["probed_steps"] = job.probed_steps;
  }
  if (!job.rows.empty()) object["rows"] = preview_objects(job);
  object["memory"] = memory;
  if (!dry_run.disk.needs.empty()) object["disk"] = disk_object(dry_run.disk);
  return to_text(object);
}

}  // namespace berth
