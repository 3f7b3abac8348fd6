#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "storage/formats/tensor_file.h"

namespace berth {

// Tensors with their data, those of floating point numbers as another type where one is given.
// Borrows what need not change, holds what does.
class ConvertedTensors {
 public:
  // `dtype` is kF32, kF16 or kBF16; kF64 is converted, too.
  ConvertedTensors(std::span<const NamedTensor> tensors, DType dtype);
  // Of a file, which outlives this, in row-major order; `dtype` absent: of their own types.
  explicit ConvertedTensors(const TensorReader& file, std::optional<DType> dtype = std::nullopt);
  ConvertedTensors(const ConvertedTensors&) = delete;
  ConvertedTensors& operator=(const ConvertedTensors&) = delete;

  std::span<const NamedTensor> tensors() const { return tensors_; }

 private:
  void convert(NamedTensor& tensor, DType dtype);

  std::vector<NamedTensor> tensors_;
  std::deque<std::vector<std::byte>> held_;
};

// The numbers of a tensor of kF32, kF16, kBF16 or kF64.
std::vector<float> floats_of(const NamedTensor& tensor);

}  // namespace berth
