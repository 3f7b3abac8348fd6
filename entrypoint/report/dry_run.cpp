#include "entrypoint/report/dry_run.h"

#include <nlohmann/json.hpp>

#include "entrypoint/memory/memory_text.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kNameWidth = 14;

std::string row(std::string_view name, const std::string& value) {
  const size_t space = name.size() < kNameWidth ? kNameWidth - name.size() : 1;
  return cat(name, std::string(space, ' '), value, "\n");
}

std::string most_of_update(const JobReport& job) {
  if (job.token_budget == 0) return cat(job.batch_size, " examples");
  return cat("at most ", job.token_budget, " tokens and ", job.batch_size, " examples");
}

}  // namespace

std::string to_text(const DryRun& dry_run) {
  const JobReport& job = dry_run.job;
  std::string text = row("examples", cat(job.train_examples, " to train on, ", job.eval_examples,
                                         " to evaluate on, ", job.num_labels, " labels")) +
                     row("updates", cat(job.total_steps, " of ", most_of_update(job))) +
                     row("parameters", cat(job.parameters)) + row("kernels", job.kernels) + "\n";
  for (const auto& [name, size_bytes] : memory_parts(dry_run.memory)) {
    text += row(name, human_bytes(size_bytes));
  }
  text += row("memory", human_bytes(dry_run.memory.total()) + " at most");
  if (!dry_run.limit) return text;
  return text +
         row("limit", cat(human_bytes(dry_run.limit->size_bytes), ", ", dry_run.limit->what));
}

std::string to_json(const DryRun& dry_run) {
  const JobReport& job = dry_run.job;
  OrderedJson memory = OrderedJson::object();
  for (const auto& [name, size_bytes] : memory_parts(dry_run.memory)) {
    memory[cat(name, "_bytes")] = size_bytes;
  }
  memory["total_bytes"] = dry_run.memory.total();
  memory["limit_bytes"] = nullptr;
  if (dry_run.limit) memory["limit_bytes"] = dry_run.limit->size_bytes;
  return to_text(OrderedJson{{"train_examples", job.train_examples},
                             {"eval_examples", job.eval_examples},
                             {"num_labels", job.num_labels},
                             {"total_steps", job.total_steps},
                             {"batch_size", job.batch_size},
                             {"token_budget", job.token_budget},
                             {"parameters", job.parameters},
                             {"kernels", job.kernels},
                             {"memory", memory}});
}

}  // namespace berth
