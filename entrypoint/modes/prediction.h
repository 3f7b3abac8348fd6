#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode predict: writes one prediction for each row to the job directory or, without one, to
// standard output. Throws what run() promises.
void run_prediction(Job& job);

}  // namespace berth
