#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode inspect: prints what a model, checkpoint, data or event file holds, on standard output.
// Throws what run() promises.
void run_inspection(Job& job);

}  // namespace berth
