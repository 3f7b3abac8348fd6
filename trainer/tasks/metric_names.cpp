#include "trainer/tasks/metric_names.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/tasks/task_results.h"

namespace berth {

std::vector<std::string> metric_names(Task task, int64_t num_classes) {
  return results_of(task).metric_names(num_classes);
}

bool is_error_metric(std::string_view metric) {
  return metric == kLossName || metric == "mse" || metric == "perplexity" || metric == "disc_loss";
}

std::string checked_metric(const std::string& name, const std::vector<std::string>& metrics,
                           const std::string& flag) {
  const std::string metric = name.starts_with("eval_") ? name.substr(5) : name;
  const bool is_known = std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
  if (metric == kLossName || is_known) return metric;
  std::string known = kLossName;
  for (const std::string& known_name : metrics) known += ", " + known_name;
  throw Error(Code::kUsage,
              cat(quoted(name), " is not a metric of this task; its metrics are ", known), flag);
}

}  // namespace berth
