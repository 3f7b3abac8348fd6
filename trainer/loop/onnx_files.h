#pragma once

#include "storage/storage.h"
#include "trainer/model/config.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// The model in ONNX's format, and its parameters where they are too large for that file. Hugging
// Face Optimum finds them by these names.
inline constexpr const char* kOnnxModelFile = "model.onnx";
inline constexpr const char* kOnnxDataFile = "model.onnx_data";

// Writes the model for inference with other programs, such as ONNX Runtime: the encoder and the
// head for the config's task, with parameters of type `dtype`. `values` are all parameters of the
// config's table, with adapters merged. `gives_types` says whether the tokenizer gives token types.
// config.json and the tokenizer's files belong beside it. Throws kBadData where a number does not
// fit `dtype`, and what storage throws.
void export_onnx(Storage& storage, const Uri& directory, const ModelConfig& config,
                 const ParameterTensors& values, DType dtype, bool gives_types = true);

}  // namespace berth
