#pragma once

#include <span>
#include <vector>

#include "storage/formats/tensor_file.h"

namespace berth {

// Converts a model's tensors, which have Hugging Face names, to the TF1 variables of
// google-research/bert or albert, for write_tensor_bundle(). TF Model Garden's converter and
// tf.train.load_checkpoint read these variables. Kernels are transposed into memory of this object.
// All other data are borrowed.
class TensorflowVariables final : public TensorReader {
 public:
  // Leaves out what TensorFlow derives: position_ids, and the decoder of the masked-LM head, which
  // is the word embedding. Throws kUsage, naming the tensor, if the model has another architecture.
  explicit TensorflowVariables(std::span<const NamedTensor> model);

  std::span<const NamedTensor> tensors() const override { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<std::vector<std::byte>> owned_;
};

}  // namespace berth
