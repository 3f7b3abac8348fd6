#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode tokenize: prints the tokens of texts, one JSON object a text, on standard output. Throws
// what run() promises.
void run_tokenization(Job& job);

}  // namespace berth
