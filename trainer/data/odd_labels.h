#pragma once

#include <string>
#include <vector>

#include "storage/formats/row_reader.h"
#include "trainer/model/task.h"

namespace berth {

// Warns of names of labels that are rather one label, as "Yes" and "yes ", and of names that rather
// are none, as "?" and "'a'". They are labels nevertheless.
std::vector<Finding> look_at_names(const std::vector<std::string>& names, LabelKind kind);

}  // namespace berth
