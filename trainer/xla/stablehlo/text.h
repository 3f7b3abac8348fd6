#pragma once

#include <span>
#include <string>

#include "trainer/xla/stablehlo/graph.h"

namespace berth::stablehlo {

// An output that may be computed in the memory of an input, which is then donated: whoever runs the
// program gives up the input's buffer.
struct Alias {
  size_t input, output;
};

// The program as a StableHLO module whose function "main" takes `inputs` and returns `outputs`, in
// these orders. Every parameter that the outputs depend on must be among the inputs; inputs that
// nothing uses are allowed. Nodes that no output depends on are left out. The same graph, inputs,
// outputs and aliases always give the same text, byte for byte. Throws Error{kInternal} where an
// input is missing or is no parameter, or where the types of an alias differ.
std::string to_text(std::span<const Value> inputs, std::span<const Value> outputs,
                    std::span<const Alias> aliases = {});

}  // namespace berth::stablehlo
