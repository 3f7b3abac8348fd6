#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode prepare: writes the rows that training would read as TFRecords or JSONL. Throws what run()
// promises.
void run_preparation(Job& job);

}  // namespace berth
