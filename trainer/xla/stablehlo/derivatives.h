#pragma once

#include <vector>

#include "trainer/xla/stablehlo/graph.h"

namespace berth::stablehlo {

// What a node adds to the derivatives of a loss by its operands, in their order. An operand without
// a derivative, such as ids, has an empty Value, or none if no other follows.
using Derivatives = std::vector<Value>;

// The node computes y of x, and `d` is the loss's derivative by y. y and x may be copies of the
// node's and its operands'. Throws Error{kInternal} where the operation has no derivative.
Derivatives derivatives(const Node& node, const std::vector<Value>& x, Value y, Value d);

}  // namespace berth::stablehlo
