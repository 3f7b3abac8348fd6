#pragma once

#include <cstdint>
#include <optional>

#include "entrypoint/flags/command_line.h"
#include "storage/storage.h"
#include "trainer/loop/job_directory.h"

namespace berth {

// The number of updates that the job in `directory` made, where it is finished; nullopt: there is
// work left, because the job is new or was interrupted, or because its model was removed. Throws
// kIncompatible where the directory cannot be used: it belongs to a job with other settings or with
// several seeds, it was used before and --no-reuse-job-dir was given, or the finished job lacks
// something that is asked for now. Throws kNotFound where the model and all checkpoints of the
// finished job were removed.
std::optional<int64_t> finished_steps(Storage& storage, const CommandLine& asked,
                                      const JobDirectory& directory);

}  // namespace berth
