#pragma once

#include <span>
#include <vector>

#include "storage/formats/tensor_file.h"

namespace berth {

// Tensors of floating point numbers as another type, the others as they are. Borrows what need not
// change, holds what does.
class ConvertedTensors {
 public:
  // `dtype` is kF32, kF16 or kBF16; kF64 is converted, too.
  ConvertedTensors(std::span<const NamedTensor> tensors, DType dtype);
  ConvertedTensors(const ConvertedTensors&) = delete;
  ConvertedTensors& operator=(const ConvertedTensors&) = delete;

  std::span<const NamedTensor> tensors() const { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<std::vector<std::byte>> held_;
};

// All tensors of a file with their data: borrowed, or held where the file has another order.
class WholeTensors {
 public:
  // `file` outlives this.
  explicit WholeTensors(const TensorReader& file);
  WholeTensors(const WholeTensors&) = delete;
  WholeTensors& operator=(const WholeTensors&) = delete;

  std::span<const NamedTensor> tensors() const { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<std::vector<std::byte>> held_;
};

// The numbers of a tensor of kF32, kF16, kBF16 or kF64.
std::vector<float> floats_of(const NamedTensor& tensor);

}  // namespace berth
