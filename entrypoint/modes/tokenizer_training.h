#pragma once

#include "entrypoint/job/job.h"

namespace berth {

// --mode train_tokenizer: trains a tokenizer on the texts of --train-data-file and writes its files
// to --export-dir, or else to --job-dir. Throws what run() promises.
void run_tokenizer_training(Job& job);

}  // namespace berth
