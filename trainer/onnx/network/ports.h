#pragma once

#include <string>
#include <utility>
#include <vector>

#include "trainer/onnx/graph.h"

namespace berth::onnx {

// The names that Hugging Face Optimum gives to the sizes that each call chooses.
inline const Dimension kBatch = std::string("batch_size"),
                       kSequence = std::string("sequence_length");

inline Port ids_port(std::string name) {
  return {.name = std::move(name), .type = ElementType::kI64, .shape = {kBatch, kSequence}};
}

inline Port logits_port(std::string name, std::vector<Dimension> shape) {
  return {.name = std::move(name), .type = ElementType::kF32, .shape = std::move(shape)};
}

}  // namespace berth::onnx
