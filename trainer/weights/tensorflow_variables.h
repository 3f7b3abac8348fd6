#pragma once

#include <span>
#include <vector>

#include "storage/formats/tensor_file.h"

namespace berth {

// A model's tensors, under Hugging Face names, as google-research/bert's (ALBERT: albert's) TF1
// variables, for write_tensor_bundle(). TF Model Garden's converter and tf.train.load_checkpoint
// read those. Kernels are transposed into memory of this object; all else is borrowed.
class TensorflowVariables final : public TensorReader {
 public:
  // Left out are what TensorFlow derives: position_ids and the masked-LM decoder, which is the word
  // embedding. Throws kUsage, naming the tensor, on a model of another architecture.
  explicit TensorflowVariables(std::span<const NamedTensor> model);

  std::span<const NamedTensor> tensors() const override { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<std::vector<std::byte>> owned_;
};

}  // namespace berth
