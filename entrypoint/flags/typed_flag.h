#pragma once

#include <string>

#include "entrypoint/flags/flag_table.h"

namespace berth {

// `word` as a shell takes it for one word. With `expands`, $NAME and a leading ~/ keep their
// meaning.
std::string shell_quoted(const std::string& word, bool expands);

// A flag with its value, as someone types it: "--batch-size 32", "--recompute",
// "--no-do-lower-case". `expands` as in shell_quoted().
std::string typed_flag(const Flag& flag, const std::string& value, bool expands);

}  // namespace berth
