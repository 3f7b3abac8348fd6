#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "entrypoint/flags/flag_table.h"

namespace berth {

// A flag as someone typed it, without its dashes and value.
struct FlagSpelling {
  const Flag* flag;
  bool negated;  // --no-x or --nox
};

// Finds the row of the flag table that `typed` names, by its name or one of its aliases, as below.
// nullopt: there is none.
std::optional<FlagSpelling> find_flag_spelling(std::string_view typed);

// Finds the row of the flag table that `typed` names, by its name or one of its aliases. `_` may
// stand for `-`. Throws kUsage on an unknown name, with the nearest known one if it is near, and on
// --no-x where x is not a switch.
FlagSpelling look_up_flag(std::string_view typed);

}  // namespace berth
