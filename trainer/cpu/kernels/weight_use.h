#pragma once

namespace berth {

// What a weight is used for: how often it changes, and how many tokens are multiplied by it between
// two changes. It decides whether packed copies are stored, or each product packs the weight again.
enum class WeightUse { kInference, kTraining, kTrainingOfFewTokens };

}  // namespace berth
