#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/model/task.h"

namespace berth {

// The name of the loss among the metrics.
inline constexpr const char* kLossName = "loss";

// The metrics of the task's evaluation beside the loss, the main metric first.
std::vector<std::string> metric_names(Task task, int64_t num_classes);

// Whether a lower value of the metric is the better one.
bool is_error_metric(std::string_view metric);

// A metric that the user named: `name` without the "eval_" that Hugging Face puts before it. Throws
// kUsage, naming `flag`, where it is neither the loss nor one of `metrics`.
std::string checked_metric(const std::string& name, const std::vector<std::string>& metrics,
                           const std::string& flag);

}  // namespace berth
