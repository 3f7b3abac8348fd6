#pragma once

#include <span>
#include <string>

#include "trainer/tasks/evaluator.h"

namespace berth {

// The queries of a retrieval set with the lowest nDCG: what was wanted, and what came first. Empty
// where there are none.
std::string missed_query_table(std::span<const MissedQuery> missed);

}  // namespace berth
