#pragma once

#include <map>
#include <string>

#include "tests/trainer/onnx/model_reader.h"
#include "tests/trainer/xla/stablehlo/interpreter.h"

namespace berth::onnx {

// Tensors of any type as kF32, which the interpreter of StableHLO holds as doubles.
using Arrays = std::map<std::string, stablehlo::Array>;

// Computes the outputs of a model in double. Each operator that berth's graphs use is written as
// operations of StableHLO, as docs/Operators.md of opset 17 defines it, and their interpreter
// computes these. Throws std::runtime_error where a node reads what is not there yet, or is not
// known.
Arrays run_model(const ReadModel& model, const Arrays& inputs);

}  // namespace berth::onnx
