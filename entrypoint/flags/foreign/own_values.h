#pragma once

#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Adds `argument`, which is one of berth's flags, with berth's value for another program's meaning:
// `--max_steps -1` of Trainer is `--max-steps 0`. Leaves out --eval-steps and --save-steps where a
// strategy of Trainer takes their place.
void translate_own(const TypedCommand& command, const TypedArgument& argument,
                   Translation& translation);

}  // namespace berth
