#include "trainer/onnx/parameter_elements.h"

#include <algorithm>
#include <vector>

#include "storage/formats/converted_tensors.h"

namespace berth::onnx {
namespace {

constexpr size_t kBlockElements = size_t{1} << 18;

DType dtype_of(ElementType type) {
  if (type == ElementType::kF16) return DType::kF16;
  return type == ElementType::kBF16 ? DType::kBF16 : DType::kF32;
}

void write_block(ByteSink& sink, const Initializer& initializer, std::span<const float> elements) {
  const NamedTensor block{.name = initializer.name,
                          .shape = {static_cast<int64_t>(elements.size())},
                          .data = std::as_bytes(elements)};
  sink.write(ConvertedTensors(std::span(&block, 1), dtype_of(initializer.type)).tensors()[0].data);
}

}  // namespace

void write_parameter(ByteSink& sink, const Initializer& initializer,
                     const ParameterTensors& values) {
  const std::vector<float> elements = values.read(initializer.parameter.value());
  if (!initializer.is_transposed) {
    for (size_t at = 0; at < elements.size(); at += kBlockElements) {
      const size_t count = std::min(kBlockElements, elements.size() - at);
      write_block(sink, initializer, std::span(elements).subspan(at, count));
    }
    return;
  }
  const auto rows = static_cast<size_t>(initializer.dims[0]);
  const auto columns = static_cast<size_t>(initializer.dims[1]);
  const size_t rows_of_block = std::max<size_t>(1, kBlockElements / std::max<size_t>(1, columns));
  std::vector<float> block;
  for (size_t first = 0; first < rows; first += rows_of_block) {
    const size_t count = std::min(rows_of_block, rows - first);
    block.resize(count * columns);
    for (size_t column = 0; column < columns; ++column) {
      for (size_t row = 0; row < count; ++row) {
        block[row * columns + column] = elements[column * rows + first + row];
      }
    }
    write_block(sink, initializer, block);
  }
}

}  // namespace berth::onnx
