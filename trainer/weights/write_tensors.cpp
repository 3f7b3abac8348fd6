#include "trainer/weights/write_tensors.h"

#include <algorithm>
#include <optional>

#include "storage/formats/converted_tensors.h"
#include "storage/formats/safetensors.h"

namespace berth {

std::vector<SavedTensor> saved_tensors(const ParameterTensors& from, std::string_view prefix,
                                       Saved which) {
  std::vector<SavedTensor> tensors;
  for (size_t i = 0; i < from.specs().size(); ++i) {
    const ParameterSpec& spec = from.specs()[i];
    if (which == Saved::kTraining && !spec.trains) continue;
    tensors.push_back({std::string(prefix) + spec.name, &from, i});
  }
  return tensors;
}

uint64_t size_bytes_of(std::span<const SavedTensor> tensors) {
  uint64_t elements = 0;
  for (const SavedTensor& tensor : tensors) {
    elements += static_cast<uint64_t>(tensor.spec().elements());
  }
  return elements * sizeof(float);
}

void write_tensors(ByteSink& sink, std::span<const SavedTensor> tensors, DType dtype,
                   const std::map<std::string, std::string>& metadata) {
  std::vector<NamedTensor> named;
  int64_t largest = 0;
  for (const SavedTensor& tensor : tensors) {
    named.push_back({.name = tensor.name, .dtype = dtype, .shape = tensor.spec().shape});
    largest = std::max(largest, tensor.spec().elements());
  }
  std::vector<float> values(static_cast<size_t>(largest));
  std::optional<ConvertedTensors> converted;
  write_safetensors(sink, named, metadata, [&](size_t i) {
    const auto elements = static_cast<size_t>(tensors[i].spec().elements());
    const std::span<float> part = std::span(values).first(elements);
    tensors[i].from->read(tensors[i].parameter, 0, part);
    const NamedTensor single{
        .name = named[i].name, .shape = named[i].shape, .data = std::as_bytes(part)};
    converted.emplace(std::span(&single, 1), dtype);
    return converted->tensors()[0].data;
  });
}

void require_range(const ParameterTensors& values, DType dtype) {
  if (dtype == DType::kF32) return;
  for (size_t i = 0; i < values.specs().size(); ++i) {
    require_range(values.read(i), dtype, values.specs()[i].name);
  }
}

// The memory holds the fp32 numbers of the largest tensor. If they are converted, ConvertedTensors
// copies them once more and holds the result twice.
size_t write_tensors_bytes(int64_t largest_elements, DType dtype) {
  const size_t in_fp32 = sizeof(float), in_dtype = size_of(dtype);
  return static_cast<size_t>(largest_elements) *
         (in_fp32 + (dtype == DType::kF32 ? 0 : in_fp32 + 2 * in_dtype));
}

CopiedTensors::CopiedTensors(std::span<const SavedTensor> tensors) {
  values_.resize(size_bytes_of(tensors) / sizeof(float));
  size_t offset = 0;
  for (const SavedTensor& tensor : tensors) {
    const auto elements = static_cast<size_t>(tensor.spec().elements());
    const std::span<float> copy = std::span(values_).subspan(offset, elements);
    tensor.from->read(tensor.parameter, 0, copy);
    named_.push_back(
        {.name = tensor.name, .shape = tensor.spec().shape, .data = std::as_bytes(copy)});
    offset += elements;
  }
}

}  // namespace berth
