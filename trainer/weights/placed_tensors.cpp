#include "trainer/weights/placed_tensors.h"

#include <algorithm>
#include <optional>

#include "storage/formats/converted_tensors.h"
#include "storage/formats/safetensors.h"

namespace berth {

std::vector<PlacedTensor> placed_tensors(const Parameters& parameters, Tensor block,
                                         std::string_view prefix, size_t first) {
  std::vector<PlacedTensor> tensors;
  for (size_t i = first; i < parameters.specs().size(); ++i) {
    const ParameterSpec& spec = parameters.specs()[i];
    Tensor values = parameters.value(i);
    values.data = block.slice(parameters.offset(i), spec.elements()).data;
    tensors.push_back({std::string(prefix) + spec.name, values});
  }
  return tensors;
}

uint64_t size_bytes_of(std::span<const PlacedTensor> tensors) {
  uint64_t size_bytes = 0;
  for (const PlacedTensor& tensor : tensors) size_bytes += tensor.values.size_bytes();
  return size_bytes;
}

void write_placed(ByteSink& sink, std::span<const PlacedTensor> tensors, DType dtype,
                  const std::map<std::string, std::string>& metadata, Kernels& kernels) {
  std::vector<NamedTensor> named;
  int64_t largest = 0;
  for (const PlacedTensor& tensor : tensors) {
    const auto shape =
        std::span(tensor.values.shape).first(static_cast<size_t>(tensor.values.rank));
    named.push_back({.name = tensor.name, .dtype = dtype, .shape = {shape.begin(), shape.end()}});
    largest = std::max(largest, tensor.values.elements());
  }
  std::vector<float> values(static_cast<size_t>(largest));
  std::optional<ConvertedTensors> converted;
  write_safetensors(sink, named, metadata, [&](size_t i) {
    kernels.download(values.data(), tensors[i].values);
    const auto elements = static_cast<size_t>(tensors[i].values.elements());
    const NamedTensor single{.name = named[i].name,
                             .shape = named[i].shape,
                             .data = std::as_bytes(std::span(values).first(elements))};
    converted.emplace(std::span(&single, 1), dtype);
    return converted->tensors()[0].data;
  });
}

// The numbers; those that are converted, twice; and what they come to, twice.
size_t placed_copy_bytes(int64_t largest_elements, DType dtype) {
  const size_t in_fp32 = sizeof(float), in_dtype = size_of(dtype);
  return static_cast<size_t>(largest_elements) *
         (in_fp32 + (dtype == DType::kF32 ? 0 : in_fp32 + 2 * in_dtype));
}

}  // namespace berth
