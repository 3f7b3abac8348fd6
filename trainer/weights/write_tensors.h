#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/tensor_file.h"
#include "trainer/model/parameter_tensors.h"

namespace berth {

// A parameter's tensor under the name that a file gives it. Borrows `from`.
struct SavedTensor {
  std::string name;
  const ParameterTensors* from = nullptr;
  size_t parameter = 0;

  const ParameterSpec& spec() const { return from->specs()[parameter]; }
};

// The tensors of every parameter, or only of those that train, each named `prefix` + its Hugging
// Face name.
enum class Saved { kAll, kTraining };
std::vector<SavedTensor> saved_tensors(const ParameterTensors& from, std::string_view prefix = "",
                                       Saved which = Saved::kAll);

// Of the tensors in fp32.
uint64_t size_bytes_of(std::span<const SavedTensor> tensors);

// Writes one safetensors file of `dtype` (kF32, kF16 or kBF16), a tensor at a time: that takes
// write_tensors_bytes() of the largest one. Does not close the sink.
void write_tensors(ByteSink& sink, std::span<const SavedTensor> tensors, DType dtype,
                   const std::map<std::string, std::string>& metadata);
size_t write_tensors_bytes(int64_t largest_elements, DType dtype);

// A copy of tensors in one block of this process's memory, for a writer that wants all of them.
class CopiedTensors {
 public:
  explicit CopiedTensors(std::span<const SavedTensor> tensors);

  // Copies the same tensors again, as they are now.
  void copy(std::span<const SavedTensor> tensors);
  // Over the copy, which must outlive them.
  std::span<const NamedTensor> tensors() const { return named_; }

 private:
  std::vector<float> values_;
  std::vector<NamedTensor> named_;
};

}  // namespace berth
