#pragma once

#include "entrypoint/flags/command_line.h"
#include "storage/storage.h"
#include "trainer/loop/job_directory.h"

namespace berth {

// The command line with the --save-total-limit of the job in `directory`, unless a flag names
// another. Jobs of earlier versions kept all checkpoints, and go on so. Only the flag itself keeps
// checkpoints from making room on a full disk: it asks for all of them if it is 0.
CommandLine with_checkpoint_limit_of_job(Storage& storage, const JobDirectory& directory,
                                         CommandLine command_line);

}  // namespace berth
