#pragma once

#include "entrypoint/report/html/job_page.h"
#include "entrypoint/training/training_inputs.h"

namespace berth {

// Counts the tokens of at most a thousand of the rows to train on, evenly spaced, and of fewer
// where texts are long. Texts are not cut to --max-seq-length here, but long contexts and documents
// are, because they become several sequences. Thread-safe beside a training. Throws what making
// features throws.
TokenLengths count_token_lengths(const TrainingInputs& inputs);

}  // namespace berth
