#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "entrypoint/job/labelled_data.h"

namespace berth {

// What all of these rows have, or all of their words that have a tag: a text such as `the label
// "sport"`, `the label 2.5` or `no label`. Empty if the rows differ or are few, and for other kinds
// of labels than classes, numbers, sets and tags.
std::string equal_labels(const ExampleTable& table, const std::vector<uint32_t>& rows,
                         LabelKind kind);

// Returns a warning for each of these: tags or sets that cannot teach anything, spellings or
// schemes of tags that are mixed, and labels that look like another column. Also returns one if the
// rows to evaluate on are the rows to train on. The last one is for a job that `holds_rows_out`, if
// no row is left to evaluate on. A table whose rows are all of one class is refused before.
std::vector<Finding> look_at_labels(const TrainingRows& rows, bool holds_rows_out);

}  // namespace berth
