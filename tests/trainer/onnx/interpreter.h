#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/trainer/onnx/model_reader.h"

namespace berth::onnx {

// A tensor of any type, row-major.
struct Array {
  std::vector<int64_t> dims{};
  std::vector<double> values{};
};

// Computes all values of a model by plain loops in double, as docs/Operators.md of opset 17 defines
// the operators, as far as berth's graphs use them. Throws std::runtime_error where a node reads
// what is not there yet, or is not known.
std::map<std::string, Array> run_model(const ReadModel& model,
                                       const std::map<std::string, Array>& inputs);

}  // namespace berth::onnx
