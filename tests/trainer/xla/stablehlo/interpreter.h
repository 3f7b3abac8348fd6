#pragma once

#include <map>
#include <span>
#include <vector>

#include "trainer/xla/stablehlo/graph.h"

namespace berth::stablehlo {

// A tensor of the interpreter. Floats of either kind are held as doubles, truth values and integers
// as 64-bit words.
struct Array {
  TensorType type;
  std::vector<double> numbers{};
  std::vector<uint64_t> words{};

  static Array of(Dims shape, std::vector<double> numbers) {
    return {{ElementType::kF32, std::move(shape)}, std::move(numbers), {}};
  }
  static Array ids(Dims shape, std::vector<uint64_t> words, ElementType type = ElementType::kS32) {
    return {{type, std::move(shape)}, {}, std::move(words)};
  }
};

// The values of parameters, by node.
using Inputs = std::map<uint32_t, Array>;

// Computes the outputs with plain loops. fp32 is computed in double; bf16 is rounded where a value
// is converted to it. all_reduce adds up equal replicas.
std::vector<Array> interpret(std::span<const Value> outputs, const Inputs& inputs);

}  // namespace berth::stablehlo
