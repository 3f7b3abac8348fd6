#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/platform/platform.h"
#include "trainer/inputs/setting.h"

namespace berth {

// Parses `arguments` (without the program's name) and completes them from the platform and the
// defaults. Throws kUsage with the flag, its value and what is accepted.
//
// Each `--flagfile FILE` stands for the flags in a local file, one a line.
//
// A flag is written `--x v` or `--x=v`, a switch also `--x`, `--no-x` or `--nox`. `_` may stand for
// `-`. If a flag is repeated, the last one counts. Where --help is among the arguments, only `help`
// is set, and `help_mode` if the first argument is the name of a mode. Flags of Trainer, its
// example scripts, google-research/bert and Model Garden are translated, and `notes` explains a
// translation that is not obvious.
//
// The platform fills in what no flag gives:
//   --export-dir, --checkpoint-dir, --summary-dir   AIP_MODEL_DIR, AIP_CHECKPOINT_DIR,
//                                                   AIP_TENSORBOARD_LOG_DIR
//   --job-dir    the parent of AIP_MODEL_DIR, which on Vertex AI is the base output directory of
//                the trial
//   the data     AIP_TRAINING_DATA_URI, AIP_VALIDATION_DATA_URI and AIP_TEST_DATA_URI, where no
//                data flag at all is given
CommandLine parse_flags(std::span<const char* const> arguments, const Platform& platform);

// Whether arguments that belong to no flag are the inputs of this mode.
bool takes_inputs(std::string_view mode);

// The command line that asks for `command_line`: parse_flags() makes the same settings of it. It
// leaves out the name of the program, flags at their defaults, and what the platform says.
std::vector<std::string> to_arguments(const CommandLine& command_line);

// Every setting with its part in the job, in the order of the flag table, as job.json records them.
SettingsTable settings_table(const Settings& settings);

}  // namespace berth
