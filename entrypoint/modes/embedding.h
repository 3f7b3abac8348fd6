#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode embed: writes one vector for each row to the job directory or the file that
// --predictions-file names. Throws what run() promises.
void run_embedding(Job& job);

}  // namespace berth
