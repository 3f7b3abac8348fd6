#pragma once

#include <string>
#include <vector>

#include "storage/formats/row_reader.h"
#include "trainer/model/task.h"

namespace berth {

// Warns of names that are probably one label, such as "Yes" and "yes ". Also warns of names that
// are probably not labels, such as "?" and "'a'". They are labels nevertheless.
std::vector<Finding> look_at_names(const std::vector<std::string>& names, LabelKind kind);

}  // namespace berth
