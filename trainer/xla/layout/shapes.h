#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/model/batch.h"
#include "trainer/xla/network/batch_inputs.h"

namespace berth {

// The columns of rows for batches within `limits` and sequences of at most `longest` tokens: a
// multiple of 8. Short sequences share a row of up to 128 columns, because attention takes little
// of the time there. They do so only if this leaves four rows or more for each of `replicas`
// replicas.
int64_t row_length_for(const BatchLimits& limits, int64_t longest, int64_t replicas);

// The shapes to which batches are filled up, smallest first and six at most. They are for batches
// within `limits` and sequences of at most `longest` tokens. Each of `replicas` replicas takes the
// same number of rows. The shapes differ in the number of rows. Every batch within the limits fits
// the last one, however its sequences are packed by pack_rows() and its rows are dealt out in turn.
std::vector<BatchShape> batch_shapes(const BatchLimits& limits, int64_t longest, int64_t replicas);

// The rows that each replica would need for the most tokens if all rows were full.
int64_t full_rows(const BatchLimits& limits, int64_t longest, int64_t replicas);

// The first shape that `needed` fits. Throws kInternal where none has.
const BatchShape& smallest_shape(std::span<const BatchShape> shapes, const BatchShape& needed);

}  // namespace berth
