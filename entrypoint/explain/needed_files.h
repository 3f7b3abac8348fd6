#pragma once

#include <vector>

#include "entrypoint/explain/own_command.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Other programs download data sets by their names. If `typed` asks for one, and no flag names
// files, names the folder in `own` that `datasets` would write of it, and says in `remarks` how.
// Removes the remarks that refuse the name.
void name_data_files(const TypedCommand& typed, bool predicts_afterwards, OwnCommand& own,
                     std::vector<Remark>& remarks);

}  // namespace berth
