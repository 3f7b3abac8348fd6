#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode tokenize: prints the tokens of texts on standard output, one JSON object for each text.
// Throws what run() promises.
void run_tokenization(Job& job);

}  // namespace berth
