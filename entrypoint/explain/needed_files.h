#pragma once

#include <string_view>
#include <vector>

#include "entrypoint/explain/own_command.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Other programs download data sets by their names. `typed` are the flags of `script`. If they name
// a data set and no flag names files, names it in `own` by its address on the hub, which berth
// reads itself. Says so in `remarks`, and removes the remarks that refuse the name.
void name_data_files(std::string_view script, const TypedCommand& typed, bool predicts_afterwards,
                     OwnCommand& own, std::vector<Remark>& remarks);

}  // namespace berth
