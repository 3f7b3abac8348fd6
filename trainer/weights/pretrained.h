#pragma once

#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/tensor_file.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// What a file of tensors gave a model.
struct LoadReport {
  std::vector<size_t> missing;  // Parameters of the head, and adapters, that the file lacks.
  // Tensors of other heads and position buffers. They are known to be useless to the model.
  std::vector<std::string> ignored;
};

// Copies every parameter from `file` into `values`, by its name or an alias. All names of a file
// may begin with "module.". F32, F16, BF16 and F64 are read, on at most `threads` threads. Throws
// kBadData, listing the names, where parameters of the encoder are missing, tensors are unexpected,
// or shapes differ; and what file.verify() throws, after all parameters were copied.
LoadReport load_parameters(const TensorReader& file, ParameterTensors& values, int threads);

}  // namespace berth
