#pragma once

#include <span>
#include <vector>

#include "trainer/xla/stablehlo/graph.h"

namespace berth::stablehlo {

// Reverse mode (Griewank and Walther 2008, "Evaluating Derivatives"): the derivatives of the scalar
// `loss` by each value of `wrt`, with that value's type; zeros where the loss does not depend on
// it. Adds nodes to the graph. Integers, truth values, comparisons and maxima over dimensions are
// constants for it. Throws Error{kInternal} where an operation has no derivative that could be
// computed (all_reduce).
//
// From a part of the graph (Graph::begin_part), only the values that other parts use are stored:
// its nodes are computed again, behind a barrier, when their derivatives are due.
std::vector<Value> gradients(Value loss, std::span<const Value> wrt);

}  // namespace berth::stablehlo
