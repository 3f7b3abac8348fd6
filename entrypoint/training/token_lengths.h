#pragma once

#include "entrypoint/report/html/job_page.h"
#include "entrypoint/training/training_inputs.h"

namespace berth {

// Counts the tokens of at most a thousand of the rows to train on, evenly spaced, and of fewer
// where texts are long. Texts are not cut to --max-seq-length here. Thread-safe beside a training.
// Throws what making features throws.
TokenLengths count_token_lengths(const TrainingInputs& inputs);

// The same where long contexts or documents become several sequences of `train`, which knows how
// long these are: of at most ten thousand of them.
TokenLengths window_lengths(const TrainingInputs& inputs, Dataset& train);

// Whether the rows to train on become several sequences.
bool become_windows(const TrainingInputs& inputs);

}  // namespace berth
