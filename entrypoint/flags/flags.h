#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/platform/platform.h"

namespace berth {

// What the arguments ask for, completed from the platform and the defaults. `arguments` leaves out
// the program's name. Throws kUsage, naming flag, value and what would be accepted.
//
// `--x v`, `--x=v`; `_` is `-`; switches also `--x`, `--no-x`, `--nox`; the last one wins.
// Without --export-dir, --checkpoint-dir and --summary-dir, AIP_MODEL_DIR, AIP_CHECKPOINT_DIR and
// AIP_TENSORBOARD_LOG_DIR stand in. Without --job-dir it is the parent of AIP_MODEL_DIR, so that on
// Vertex AI the job directory is the base output directory, trial included. Without any data, what
// AIP_TRAINING_DATA_URI, AIP_VALIDATION_DATA_URI and AIP_TEST_DATA_URI name. Wherever --help
// stands, only `help` is set.
CommandLine parse_flags(std::span<const char* const> arguments, const Platform& platform);

// Canonical name and value of every setting, in the table's order; as job.json records them.
std::vector<std::pair<std::string, std::string>> settings_table(const Settings& settings);

}  // namespace berth
