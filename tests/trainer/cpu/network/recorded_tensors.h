#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "storage/formats/tensor_file.h"
#include "trainer/model/batch.h"

namespace berth {

// The tensors of a file whose names begin with `prefix`. Their names lose the prefix.
class Selected final : public TensorReader {
 public:
  Selected(const TensorReader& file, std::string_view prefix) {
    for (const NamedTensor& tensor : file.tensors()) {
      if (!tensor.name.starts_with(prefix)) continue;
      tensors_.push_back(tensor);
      tensors_.back().name.erase(0, prefix.size());
    }
  }
  std::span<const NamedTensor> tensors() const override { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
};

template <typename T>
std::vector<T> recorded_values(const TensorReader& file, std::string_view name) {
  const NamedTensor* tensor = file.find(name);
  if (tensor == nullptr) throw std::runtime_error("not recorded: " + std::string(name));
  std::vector<T> result(tensor->data.size() / sizeof(T));
  std::memcpy(result.data(), tensor->data.data(), tensor->data.size());
  return result;
}

// The packed inputs that tests/record/record_architectures.py wrote, without labels.
inline PackedBatch recorded_inputs(const TensorReader& file) {
  PackedBatch packed;
  packed.input_ids = recorded_values<int32_t>(file, "input_ids");
  packed.token_type_ids = recorded_values<int32_t>(file, "token_type_ids");
  for (const int32_t length : recorded_values<int32_t>(file, "lengths")) {
    for (int32_t i = 0; i < length; ++i) packed.position_ids.push_back(i);
    packed.cu_seqlens.push_back(packed.cu_seqlens.back() + length);
  }
  return packed;
}

}  // namespace berth
