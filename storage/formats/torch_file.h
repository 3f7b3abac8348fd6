#pragma once

#include <span>
#include <vector>

#include "storage/formats/tensor_file.h"

namespace berth {

// Reads a state dict that torch.save wrote (pytorch_model.bin, .pt), either in the zip format of
// PyTorch 1.6 and later or in the older sequence of pickles (torch_file.cpp describes both). The
// pickle is parsed without running any code. A file that refers to anything but PyTorch's own
// tensor functions throws kBadData, which names the reference. Element types are float32, float64,
// bfloat16, float16, integers and bool.
//
// Contiguous tensors borrow `file`, which must outlive the reader, and may be unaligned. Tensors
// that share a storage share its bytes. Transposed and expanded tensors are copied; the copies
// together may have at most twice the size of the file. The zip format's CRC-32s are compared.
// Thread-safe once built.
class TorchFileReader final : public TensorReader {
 public:
  // Throws kCorrupt, naming the byte, storage or tensor, on damage, and kBadData if the file is not
  // a state dict or contains more than one.
  explicit TorchFileReader(Bytes file);

  std::span<const NamedTensor> tensors() const override { return tensors_; }

 private:
  std::vector<NamedTensor> tensors_;
  std::vector<std::vector<std::byte>> gathered_;
};

}  // namespace berth
