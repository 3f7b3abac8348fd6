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

// A parameter's tensor with its name in a file. Borrows `from`.
struct SavedTensor {
  std::string name;
  const ParameterTensors* from = nullptr;
  size_t parameter = 0;

  const ParameterSpec& spec() const { return from->specs()[parameter]; }
};

// The tensors of all parameters, or only of the ones that train. Their names are `prefix` and the
// Hugging Face name.
enum class Saved { kAll, kTraining };
std::vector<SavedTensor> saved_tensors(const ParameterTensors& from, std::string_view prefix = "",
                                       Saved which = Saved::kAll);

// The size of the tensors in fp32.
uint64_t size_bytes_of(std::span<const SavedTensor> tensors);

// Writes one safetensors file in `dtype` (kF32, kF16 or kBF16), one tensor after the other. It
// needs write_tensors_bytes() of the largest tensor in memory. Does not close the sink.
void write_tensors(ByteSink& sink, std::span<const SavedTensor> tensors, DType dtype,
                   const std::map<std::string, std::string>& metadata);
size_t write_tensors_bytes(int64_t largest_elements, DType dtype);

// Throws kBadData, naming the parameter, where a finite number would become infinite in `dtype`. A
// caller that writes several files calls this first, so that it writes none of them if one cannot
// be written. Copies one parameter at a time.
void require_range(const ParameterTensors& values, DType dtype);

// A copy of tensors in one block of memory, for a writer that needs all of them at once.
class CopiedTensors {
 public:
  explicit CopiedTensors(std::span<const SavedTensor> tensors);

  // The copied tensors. They borrow this object.
  std::span<const NamedTensor> tensors() const { return named_; }

 private:
  std::vector<float> values_;
  std::vector<NamedTensor> named_;
};

}  // namespace berth
