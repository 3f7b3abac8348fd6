#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/model/task.h"

namespace berth {

// "sequence_classification", ...: as --task and metrics.json say it.
std::string_view task_name(Task task);
// By its name or one of those that the field uses ("classification", "ner", "squad", ...).
std::optional<Task> find_task(std::string_view name);
// For messages.
std::string known_tasks();

// What an evaluation of the task tells beside the loss, its main one first.
std::vector<std::string> metric_names(Task task, int64_t num_classes);

inline constexpr const char* kLossName = "loss";
// `name` without Hugging Face's eval_ in front. Throws kUsage, naming `flag`, where it is neither
// the loss nor one of `metrics`.
std::string checked_metric(const std::string& name, const std::vector<std::string>& metrics,
                           const std::string& flag);

}  // namespace berth
