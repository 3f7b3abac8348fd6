#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "storage/base/text.h"

namespace berth {

// A number with its noun, for messages: "1 row", "2 rows". For nouns whose plural ends in a mere s.
template <std::integral Number>
std::string counted(Number count, std::string_view noun) {
  return cat(count, " ", noun, count == 1 ? "" : "s");
}

}  // namespace berth
