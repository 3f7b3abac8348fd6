#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "trainer/cpu/kernels/kernels.h"
#include "trainer/cpu/parameters.h"

namespace berth {

// A tensor of a file, and its fp32 numbers where the backend computes.
struct PlacedTensor {
  std::string name;
  Tensor values;
};

// One for every parameter from index `first` on, in `block`, which is laid out as all are; named
// `prefix` + its Hugging Face name.
std::vector<PlacedTensor> placed_tensors(const Parameters& parameters, Tensor block,
                                         std::string_view prefix, size_t first = 0);

uint64_t size_bytes_of(std::span<const PlacedTensor> tensors);

// Writes them as one safetensors file of `dtype` (kF32, kF16, kBF16), one after the other: what
// that takes is placed_copy_bytes() of the largest. Does not close the sink.
void write_placed(ByteSink& sink, std::span<const PlacedTensor> tensors, DType dtype,
                  const std::map<std::string, std::string>& metadata, Kernels& kernels);
size_t placed_copy_bytes(int64_t largest_elements, DType dtype);

}  // namespace berth
