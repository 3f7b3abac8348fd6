#pragma once

#include <span>
#include <vector>

#include "storage/formats/tensor_file.h"

namespace berth {

// One file of torch.save (pytorch_model.bin, .pt): a state dict, in the zip form of PyTorch 1.6 or
// the older row of pickles (formats/torch/torch_layout.h has both). The pickle is read by an opcode
// reader that runs nothing; a file that refers to any code but PyTorch's own of tensors is
// kBadData, naming it. float32, float64, bfloat16, float16, integers and bool.
//
// Contiguous tensors borrow `file`, which must outlive the reader, at whatever alignment they have
// there; tensors that share a storage share its bytes. Transposed and expanded ones are copied, all
// together at most to twice the file's size. CRC-32s of the zip form are compared. Thread-safe once
// built.
class TorchFileReader final : public TensorReader {
 public:
  // Throws kCorrupt, naming the byte, storage or tensor, on damage; kBadData on what is not a state
  // dict, or more than that.
  explicit TorchFileReader(Bytes file);

  std::span<const NamedTensor> tensors() const override { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<std::vector<std::byte>> gathered_;
};

}  // namespace berth
