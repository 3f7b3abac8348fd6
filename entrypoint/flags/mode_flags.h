#pragma once

#include <string>
#include <string_view>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/flags/flag_role.h"

namespace berth {

// The flags that were given and that the mode does not use: one sentence, or empty. Flags that
// would be wrong beside the mode are refused elsewhere (check_settings.h). People start a second
// mode by the command of the first one, so the others are no error.
std::string unused_flags(const CommandLine& command_line);

// The names of some modes: "predict and embed".
std::string mode_names(ModeSet modes);

// The mode that a word names before all flags, as in `berth predict`; empty: it names none.
std::string mode_of_word(std::string_view word);

}  // namespace berth
