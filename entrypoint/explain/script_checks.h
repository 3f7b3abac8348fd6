#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/own_command.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// The devices on which a command trains, and the batch that follows from them.
struct TrainingDevices {
  AskedDevice kind = AskedDevice::kNotSaid;
  std::optional<int64_t> count{};  // of one machine; nullopt: berth takes all
  int64_t processes = 1;           // a batch has the examples of one device this many times
  int64_t machines = 1;
  Remarks remarks{};
};

// `said` is the number of devices that `berth explain --devices N` says.
TrainingDevices choose_devices(const Launch& launch, const TrainingScript* script,
                               const TypedCommand& typed, std::optional<int64_t> said);

// Adds the flags for them, unless the line names a device already.
void name_devices(const TrainingDevices& choice, OwnCommand& own);

// Some flags mean another thing in a script than in berth: a batch of each process, columns that
// are joined, steps that no strategy counts. Mends them in `own`, or refuses them. `script` may be
// nullptr, as in the other functions.
void check_meanings(const TrainingScript* script, const TypedCommand& typed, int64_t processes,
                    OwnCommand& own, Remarks& remarks);

// Whether a script that also predicts has rows for it in `own`. If it has none, says why.
bool check_prediction(std::string_view script, OwnCommand& own, Remarks& remarks);

// Refuses a training that evaluates on rows which the line does not name. There, berth would hold
// out some of the training rows, and the script does not.
void check_evaluation(const TrainingScript* script, const TypedCommand& typed,
                      const OwnCommand& own, Remarks& remarks);

// Whether the script trains by masked tokens, as its name says.
bool masks_texts(std::string_view script);

// Finds where such a script differs from berth: rows that it sets aside, lines that it cuts, files
// that it reads as plain text. Mends them in `own`, whose defaults are added, or refuses them.
void check_masked_texts(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                        Remarks& remarks);

// Refuses one column of texts that berth would read in a pair, because its name begins one.
void check_single_text(const OwnCommand& own, Remarks& remarks);

}  // namespace berth
