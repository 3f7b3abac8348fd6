#include "storage/formats/converted_tensors.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "storage/base/dtype.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

bool is_floating(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

// The bytes in a file may be unaligned; the returned elements are aligned.
template <typename T>
std::vector<T> elements_of(const NamedTensor& tensor) {
  std::vector<T> values(tensor.data.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), values.size() * sizeof(T));
  return values;
}

template <typename To, typename From, typename Convert>
std::vector<To> converted(const std::vector<From>& values, const Convert& convert) {
  std::vector<To> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), convert);
  return result;
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> written_as(DType dtype, const std::vector<float>& values) {
  switch (dtype) {
    case DType::kF16:
      return bytes_of(converted<uint16_t>(values, to_f16));
    case DType::kBF16:
      return bytes_of(converted<uint16_t>(values, to_bf16));
    default:
      assert(dtype == DType::kF32);
      return bytes_of(values);
  }
}

// The least absolute value that becomes infinite when it is rounded to `dtype`.
double overflow_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return 65520;
    case DType::kBF16:
      return 0x1.FFp127;
    default:
      return 0x1.FFFFFFp127;
  }
}

// Infinities and NaNs that are in the tensor already stay what they are.
template <typename T>
void require_range_of(std::span<const T> values, DType dtype, const std::string& name) {
  const double overflow = overflow_of(dtype);
  for (const double value : values) {
    if (!std::isfinite(value) || std::abs(value) < overflow) continue;
    throw Error(Code::kBadData, cat("holds ", value, ", which is infinite as ", name_of(dtype)),
                name, "choose a type with a wider range: --export-dtype bfloat16 or float32");
  }
}

}  // namespace

void require_range(std::span<const float> elements, DType dtype, const std::string& tensor) {
  require_range_of(elements, dtype, tensor);
}

std::vector<float> floats_of(const NamedTensor& tensor) {
  switch (tensor.dtype) {
    case DType::kF16:
      return converted<float>(elements_of<uint16_t>(tensor), from_f16);
    case DType::kBF16:
      return converted<float>(elements_of<uint16_t>(tensor), from_bf16);
    case DType::kF64:
      return converted<float>(elements_of<double>(tensor),
                              [](double value) { return static_cast<float>(value); });
    default:
      assert(tensor.dtype == DType::kF32);
      return elements_of<float>(tensor);
  }
}

ConvertedTensors::ConvertedTensors(std::span<const NamedTensor> tensors, DType dtype)
    : tensors_(tensors.begin(), tensors.end()) {
  for (NamedTensor& tensor : tensors_) convert(tensor, dtype);
}

ConvertedTensors::ConvertedTensors(const TensorReader& file, std::optional<DType> dtype)
    : tensors_(file.tensors().begin(), file.tensors().end()) {
  for (NamedTensor& tensor : tensors_) {
    std::vector<std::byte> memory;
    tensor.data = file.read(tensor, memory);
    if (dtype) convert(tensor, *dtype);
    // Moving the vector does not move its bytes, so tensor.data stays valid.
    if (!memory.empty() && tensor.data.data() == memory.data()) held_.push_back(std::move(memory));
  }
}

void ConvertedTensors::convert(NamedTensor& tensor, DType dtype) {
  if (!is_floating(tensor.dtype) || tensor.dtype == dtype) return;
  const std::vector<float> values = floats_of(tensor);
  if (tensor.dtype == DType::kF64) {
    require_range_of<double>(elements_of<double>(tensor), dtype, tensor.name);
  } else {
    require_range(values, dtype, tensor.name);
  }
  tensor.data = held_.emplace_back(written_as(dtype, values));
  tensor.dtype = dtype;
}

}  // namespace berth
