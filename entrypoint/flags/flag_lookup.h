#pragma once

#include <string>
#include <string_view>

#include "entrypoint/flags/flag_table.h"

namespace berth {

// A flag as someone typed it, without its dashes and value.
struct FlagSpelling {
  const Flag* flag;
  bool negated;  // --no-x or --nox
};

// `_` is `-`. Throws kUsage on a name that no row has, naming the nearest, and on --no-x where x is
// no switch.
FlagSpelling look_up_flag(std::string_view typed);

}  // namespace berth
