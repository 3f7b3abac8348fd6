#pragma once

#include <vector>

#include "trainer/model/batch.h"

// How a batch of texts that are compared is cut for gradient caching (BatchLimits::part_sequences).
namespace berth {

// The limits of a part.
BatchLimits limits_of_part(const BatchLimits& whole);

// The fewest parts within their limits, from the first sequence on. Each sequence is an example of
// its own, without a label. A part knows its place in the update, so dropout is the same.
std::vector<PackedBatch> parts_of(const PackedBatch& batch, const BatchLimits& of_part);

}  // namespace berth
