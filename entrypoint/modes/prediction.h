#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode predict: writes one prediction for each row to the job directory or, without one, to
// standard output. With --precision int8 and labelled rows to evaluate on, also logs how much
// accuracy int8 costs. Throws what run() promises.
void run_prediction(Job& job);

}  // namespace berth
