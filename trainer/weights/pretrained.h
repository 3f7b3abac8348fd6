#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/tensor_file.h"
#include "trainer/cpu/parameters.h"

namespace berth {

// What a file of tensors gave a model.
struct LoadReport {
  std::vector<size_t> missing;  // parameters of the head, and adapters, that the file lacks
  std::vector<std::string>
      ignored;  // tensors of other heads and position buffers, known to be useless here
};

// Copies every parameter from `file`, by its name or an alias, all behind "module." or none; F32,
// F16, BF16 and F64 are read. Throws kBadData, listing the names, when parameters of the encoder
// are missing, tensors are unexpected, or shapes differ; and as file.verify(), after all of them
// were copied.
LoadReport load_parameters(const TensorReader& file, Parameters& parameters, Kernels& kernels);

// The tensors of every parameter, from the one of index `first` on, in `values`, which are laid out
// as these are and outlive the tensors; named `prefix` + its Hugging Face name.
std::vector<NamedTensor> tensors_over(const Parameters& parameters, std::span<const float> values,
                                      std::string_view prefix, size_t first = 0);

// All parameters as one safetensors file of `dtype` (kF32, kF16, kBF16) under their Hugging Face
// names. Does not close the sink.
void save_parameters(const Parameters& parameters, Kernels& kernels, DType dtype, ByteSink& sink);

}  // namespace berth
