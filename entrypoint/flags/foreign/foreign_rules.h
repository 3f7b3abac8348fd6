#pragma once

#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Translates argument `index` of `command`, whose row of the table has Fate::kRule. Flags that
// belong together, such as --do_train and --do_eval, become one flag of berth at the place of the
// last of them. Throws kUsage on a value that its program would refuse, too.
void apply_rule(const TypedCommand& command, size_t index, Translation& translation);

// Whether a rule exists for the flag of this name.
bool has_rule(std::string_view name);

}  // namespace berth
