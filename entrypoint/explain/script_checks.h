#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "entrypoint/explain/own_command.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Some flags mean another thing in a script than in berth: a batch of each process, columns that
// are joined, steps that no strategy counts. Mends them in `own`, or refuses them. `script` may be
// nullptr, as in the other functions.
void check_meanings(const TrainingScript* script, const TypedCommand& typed, int64_t processes,
                    OwnCommand& own, std::vector<Remark>& remarks);

// Whether a script that also predicts has rows for it in `own`. If it has none, says why.
bool check_prediction(std::string_view script, OwnCommand& own, std::vector<Remark>& remarks);

// Refuses a training that evaluates on rows which the line does not name. There, berth would hold
// out some of the training rows, and the script does not.
void check_evaluation(const TrainingScript* script, const TypedCommand& typed,
                      const OwnCommand& own, std::vector<Remark>& remarks);

}  // namespace berth
