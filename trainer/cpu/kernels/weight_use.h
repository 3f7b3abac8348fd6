#pragma once

namespace berth {

// What a weight is for: how often it changes, and how many tokens meet it meanwhile. By that a
// backend keeps copies of it that are packed once, or packs it anew in every product.
enum class WeightUse { kInference, kTraining, kTrainingOfFewTokens };

}  // namespace berth
