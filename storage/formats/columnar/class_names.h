#pragma once

#include <map>
#include <string>
#include <vector>

namespace berth::columnar {

// The names of the classes for which the integers of a column stand, by the column's name. They
// come from the metadata "huggingface", in which the library `datasets` keeps the features of a
// data set: {"info": {"features": {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}}}.
// Lists of classes have theirs inside. Columns without names are left out. Text that is not of this
// form gives no names.
std::map<std::string, std::vector<std::string>> class_names(const std::string& hugging_face);

}  // namespace berth::columnar
