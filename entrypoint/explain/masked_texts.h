#pragma once

#include <string_view>
#include <vector>

#include "entrypoint/explain/own_command.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Whether the script trains by masked tokens, as its name says.
bool masks_texts(std::string_view script);

// Finds where such a script differs from berth: rows that it sets aside, lines that it cuts, files
// that it reads as plain text. Mends them in `own`, whose defaults are added, or refuses them.
void check_masked_texts(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                        std::vector<Remark>& remarks);

}  // namespace berth
