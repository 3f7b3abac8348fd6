#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "entrypoint/job/labelled_data.h"

namespace berth {

// "the label "sport"": what all of these rows have, or all of their words. Empty if they differ, or
// are few.
std::string equal_labels(const ExampleTable& table, const std::vector<uint32_t>& rows,
                         LabelKind kind);

// Returns a warning for each kind of labels that cannot teach anything, or that look like another
// column than labels. And for a job that has no row to evaluate on, though it `holds_rows_out`.
std::vector<Finding> look_at_labels(const TrainingRows& rows, bool holds_rows_out);

}  // namespace berth
