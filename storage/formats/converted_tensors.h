#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/formats/tensor_file.h"

namespace berth {

// Copies of tensors whose floating-point elements may be converted to another type. A tensor that
// needs no conversion keeps borrowing its bytes; converted bytes are owned by this object.
// Thread-safe once built.
class ConvertedTensors {
 public:
  // Converts every floating-point tensor (kF64 included) to `dtype`, which is kF32, kF16 or kBF16.
  // `tensors` must outlive this. Throws kBadData, naming the tensor, where a finite element would
  // become infinite.
  ConvertedTensors(std::span<const NamedTensor> tensors, DType dtype);
  // Reads all tensors of `file`, which must outlive this, in row-major order. Converts them only if
  // `dtype` is given; throws as above.
  explicit ConvertedTensors(const TensorReader& file, std::optional<DType> dtype = std::nullopt);
  ConvertedTensors(const ConvertedTensors&) = delete;
  ConvertedTensors& operator=(const ConvertedTensors&) = delete;

  std::span<const NamedTensor> tensors() const { return tensors_; }

 private:
  void convert(NamedTensor& tensor, DType dtype);

  std::vector<NamedTensor> tensors_;
  std::deque<std::vector<std::byte>> held_;
};

// Throws kBadData, naming the tensor, where a finite element would become infinite as `dtype`,
// which is kF32, kF16 or kBF16.
void require_range(std::span<const float> elements, DType dtype, const std::string& tensor);

// Returns the elements of a kF32, kF16, kBF16 or kF64 tensor as floats.
std::vector<float> floats_of(const NamedTensor& tensor);

}  // namespace berth
