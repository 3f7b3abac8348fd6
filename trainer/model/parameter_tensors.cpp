#include "trainer/model/parameter_tensors.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace berth {

HostTensors::HostTensors(std::vector<ParameterSpec> specs) : specs_(std::move(specs)) {
  for (const ParameterSpec& spec : specs_) {
    tensors_.emplace_back(static_cast<size_t>(spec.elements()));
  }
}

void HostTensors::read(size_t index, int64_t first, std::span<float> values) const {
  const std::span<const float> tensor(tensors_[index]);
  std::ranges::copy(tensor.subspan(static_cast<size_t>(first), values.size()), values.begin());
}

void HostTensors::write(size_t index, int64_t first, Bytes values) {
  const auto begin = static_cast<size_t>(first), count = values.size() / sizeof(float);
  assert(begin + count <= tensors_[index].size());
  if (count > 0) std::memcpy(tensors_[index].data() + begin, values.data(), count * sizeof(float));
}

int64_t total_elements(std::span<const ParameterSpec> specs) {
  int64_t elements = 0;
  for (const ParameterSpec& spec : specs) elements += spec.elements();
  return elements;
}

int64_t trained_elements(std::span<const ParameterSpec> specs) {
  int64_t elements = 0;
  for (const ParameterSpec& spec : specs) elements += spec.trains ? spec.elements() : 0;
  return elements;
}

}  // namespace berth
