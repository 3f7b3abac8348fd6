#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode predict: writes one prediction a row, into the job directory or, without one, on standard
// output. Throws what run() promises.
void run_prediction(Job& job);

}  // namespace berth
