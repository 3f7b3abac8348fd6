#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/model/task.h"

namespace berth {

// How transformers' config.json describes a model's task: reading and writing it.

// The task that a file was saved for. `class_name` is the first of its architectures, and "" if it
// names none. `problem_type` is "" if it has none. `num_labels` counts its id2label. As in
// transformers, a sequence classifier with one output and no problem_type is a regression. nullopt
// if the file does not say.
std::optional<Task> saved_task(std::string_view class_name, std::string_view problem_type,
                               size_t num_labels);

// Whether the class classifies texts or tokens. If its file has no id2label, transformers counts
// the labels by num_labels, 2 by default, and names them LABEL_0 and so on.
bool is_classifier(std::string_view class_name);
std::vector<std::string> placeholder_labels(int64_t num_labels);

// Calls a regression's only output "score", unless the file gave it a name of its own. LABEL_0 is
// the name that transformers gives to an output without one.
void name_score(std::vector<std::string>& labels);

// The names that the exported id2label holds. transformers counts a head's outputs by its entries,
// so outputs without names are called LABEL_0, LABEL_1.
std::vector<std::string> saved_labels(Task task, const std::vector<std::string>& labels);

}  // namespace berth
