#pragma once

#include <vector>

#include "entrypoint/explain/own_command.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// Trainer's --config_name names a model of the hub, a folder or a file. Names it in `own` as
// --model-config does, which is a file. Leaves it out where it is the model's own.
void name_configuration(const TypedCommand& typed, OwnCommand& own, std::vector<Remark>& remarks);

// A pre-training from scratch names no model, but a tokenizer, a configuration or both. Names them
// in `own` as berth does: --model with the tokenizer's files and --init random. Removes the remarks
// that refuse their flags.
void name_scratch_model(const TypedCommand& typed, OwnCommand& own, std::vector<Remark>& remarks);

}  // namespace berth
