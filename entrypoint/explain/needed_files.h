#pragma once

#include <vector>

#include "entrypoint/explain/own_command.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Other programs download data sets and models by their names. Names files in `own` for those that
// `typed` asks for and that no flag names, and says in `remarks` how to make them. Removes the
// remarks that refuse the names.
void name_data_files(const TypedCommand& typed, bool predicts_afterwards, OwnCommand& own,
                     std::vector<Remark>& remarks);
void explain_model_name(const TypedCommand& typed, const OwnCommand& own,
                        std::vector<Remark>& remarks);

}  // namespace berth
