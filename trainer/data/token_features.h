#pragma once

#include "trainer/data/features.h"

namespace berth {

// What the feature makers share.

// The features of an example that was tokenized elsewhere. Throws kUsage where it has more than
// `max_length` tokens.
Features token_features(const Example& example, int32_t max_length);

// The class of an entry of the LabelDictionary; -1, which is no label, stays -1.
int32_t class_of(const FeatureOptions& options, int32_t entry);
// The weight of a class; 1 where there are no weights or no label.
float class_weight(const FeatureOptions& options, int32_t label);

}  // namespace berth
