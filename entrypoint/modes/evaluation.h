#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode eval: evaluates a finished model and prints its metrics as JSON on standard output. Throws
// what run() promises.
void run_evaluation(Job& job);

}  // namespace berth
