#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trainer/xla/stablehlo/recomputation.h"

namespace berth::stablehlo {

// The derivatives of a loss by the operands of a node: pairs of an operand's index and what this
// node adds to that operand's derivative. Operands without derivatives, such as ids, are left out.
using Derivatives = std::vector<std::pair<uint32_t, Value>>;

// `d` is the loss's derivative by node `index`, and `values` has entered that node.
Derivatives derivatives(Recomputation& values, uint32_t index, Value d);

}  // namespace berth::stablehlo
