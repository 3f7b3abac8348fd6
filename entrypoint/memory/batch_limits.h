#pragma once

#include <cstdint>

#include "trainer/cpu/network/model.h"
#include "trainer/loop/options.h"

namespace berth {

// The size of the largest batch that a job computes at once: a micro-batch in training, or an
// evaluation batch, of data sets of at most `most_examples` examples.
BatchLimits batch_limits(const Settings& settings, bool training,
                         int64_t most_examples = INT64_MAX);

// The most tokens of an update, where one batch makes the whole update and its optimizer takes
// gradients as factors; else 0.
int64_t update_tokens(const Settings& settings);

}  // namespace berth
