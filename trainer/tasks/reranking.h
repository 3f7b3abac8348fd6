#pragma once

#include <span>
#include <vector>

#include "trainer/data/dataset.h"

namespace berth {

// The rank, from 1, of each row's score among the rows of its query: those with the same first
// text. Of equal scores, the earlier row is the better one. A row that lacks a text has no rank: 0.
std::vector<float> ranks_in_lists(const Dataset& data, std::span<const float> scores);

}  // namespace berth
