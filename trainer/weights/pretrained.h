#pragma once

#include <string>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/tensor_file.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// What happened when a file of tensors was loaded into a model.
struct LoadReport {
  std::vector<size_t> missing;  // parameters of the head and adapters that the file lacks
  // Tensors of other heads and position buffers, which the model does not use.
  std::vector<std::string> ignored;
};

// Copies every parameter from `file` into `values` by its name or an alias, on at most `threads`
// threads. All names of the file may begin with "module.". Tensors may be F32, F16, BF16 or F64.
// Throws kBadData, listing the names, if parameters of the encoder are missing, tensors are
// unexpected, or shapes differ. Calls file.verify() after all parameters were copied and passes on
// what it throws.
LoadReport load_parameters(const TensorReader& file, ParameterTensors& values, int threads);

}  // namespace berth
