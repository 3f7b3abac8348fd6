#pragma once

#include <cstdint>

#include "trainer/loop/options.h"
#include "trainer/model/batch.h"

namespace berth {

// The size of the largest batch that a job computes at once: a micro-batch in training, or an
// evaluation batch, of data sets of at most `most_examples` examples, each of `texts` sequences.
BatchLimits batch_limits(const Settings& settings, bool training, int64_t most_examples = INT64_MAX,
                         int64_t texts = 1);

// The most tokens of one update, over all of its micro-batches.
int64_t update_tokens(const Settings& settings, int64_t texts = 1);

}  // namespace berth
