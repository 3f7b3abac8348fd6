#pragma once

#include "entrypoint/explain/explain.h"
#include "entrypoint/explain/launch.h"

namespace berth {

// The script of TensorFlow Model Garden that trains by the configuration of an experiment.
inline constexpr const char* kExperimentScript = "official/nlp/train.py";

// Turns an experiment of Model Garden into flags: `--experiment` with the files of --config_file
// and the options of --params_override, each over the one before. Settings for which there is no
// flag go to launch.remarks. Leaves launches without --experiment as they are.
void read_experiment(const ReadFile& read_file, Launch& launch);

}  // namespace berth
