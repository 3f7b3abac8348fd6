#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/model/config.h"

namespace berth {

// How transformers' config.json tells the tasks apart: by the class's name and, between those of
// sequences, by the problem_type.

// "ForTokenClassification", behind the architecture's name.
std::string_view class_suffix(Task task);

// "regression"; "" for what are not sequences' tasks.
std::string_view problem_type(Task task);

// What a file with this class ("" where it names none), problem_type and number of labels was saved
// for. As in transformers, one output without a problem_type is a score.
std::optional<Task> saved_task(std::string_view class_name, std::string_view problem_type,
                               size_t num_labels);

// Calls regression's only output "score" where the file gave it no name of its own.
void name_score(std::vector<std::string>& labels);

// The names that id2label gets: transformers counts a head's outputs by them, so that what has no
// names gets LABEL_0, ...
std::vector<std::string> saved_labels(Task task, const std::vector<std::string>& labels);

}  // namespace berth
