#pragma once

#include <initializer_list>
#include <string_view>

#include "storage/base/json.h"

namespace berth {

// parse_ordered_json(), but the objects that the outermost object has under the names in `emptied`
// are empty in the result. They take linear time, where others take a time that is quadratic in the
// number of their members.
OrderedJson parse_ordered_json(std::string_view text,
                               std::initializer_list<std::string_view> emptied);

}  // namespace berth
