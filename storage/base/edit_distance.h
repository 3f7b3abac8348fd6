#pragma once

#include <cstddef>
#include <string_view>

namespace berth {

// Levenshtein 1966: the least number of insertions, deletions and substitutions of bytes that turn
// `a` into `b`.
size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace berth
