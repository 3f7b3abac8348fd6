#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/label_form.h"

namespace berth {

// What stands between the separators in a text, without blanks around it. Parts that are empty are
// dropped.
std::vector<std::string> split_at(std::string_view text, std::string_view separator);

// Finds what separates the labels of sets, unless the user said it. Warns where each text is read
// as one label but may hold several.
void find_separator(LabelForm& form, const LabelCells& cells, std::vector<Finding>& findings);

// Warns where texts that are read as classes may be sets of labels.
void warn_of_joined(const LabelCells& cells, std::vector<Finding>& findings);

}  // namespace berth
