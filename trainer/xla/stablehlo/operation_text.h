#pragma once

#include <string>
#include <vector>

#include "trainer/xla/stablehlo/graph.h"

namespace berth::stablehlo {

// The right side of a line of StableHLO: "stablehlo.add %0, %1 : tensor<2xf32>". `names` holds the
// names of all nodes before this one.
std::string operation_text(const Graph& graph, const Node& node,
                           const std::vector<std::string>& names);

}  // namespace berth::stablehlo
