#pragma once

#include "trainer/data/features.h"

namespace berth {

// What the makers share.

// Of an example that was tokenized elsewhere. Throws kUsage when there are more than `max_length`
// tokens, which the records' maker cut them to.
Features token_features(const Example& example, int32_t max_length);

// The class of a LabelDictionary's entry; -1 of -1.
int32_t class_of(const FeatureOptions& options, int32_t entry);
float class_weight(const FeatureOptions& options, int32_t label);

}  // namespace berth
