#pragma once

#include <cstdint>
#include <span>

#include "trainer/distributed/communicator.h"

namespace berth {

// Marks the rows of tables that are marked on any rank, by one exchange of a bit for each row.
// `marks` holds an int32 for each row of each table; a row is marked if it has all bits of `mark`.
// A collective.
void unite_marks(Communicator& ranks, std::span<const std::span<int32_t>> marks, int32_t mark);

}  // namespace berth
