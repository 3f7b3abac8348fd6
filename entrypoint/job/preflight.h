#pragma once

#include <string>

#include "entrypoint/flags/command_line.h"
#include "trainer/inputs/data_source.h"
#include "trainer/inputs/options.h"

namespace berth {

// Finds out, before anything is fetched or computed, whether the job can be done at all. It checks
// that each input in `settings` exists, and that each output path is not a local file. Each output
// path must accept a small object, which is removed again. All remote places are checked at the
// same time. Throws the first failure in the order of --help; its `where` begins with the flag.
void preflight(const DataPaths& paths, const Settings& settings);
// Throws kUsage where the results of a finished model would replace what it reads: a file of rows,
// the passages of --mine-corpus, or a file of the model. `file` is what --predictions-file says.
void require_own_place(const DataPaths& paths, const Settings& settings, const std::string& file);
// Checks the files of flags that a training does not use. A user who names one expects it to exist.
void preflight_unused(const DataPaths& paths, const CommandLine& command_line);

}  // namespace berth
