#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// One tensor of a state dict: a view of a storage. All in elements; nothing is checked against the
// storage's size.
struct TorchView {
  std::string name;
  std::string storage;  // its key
  uint64_t offset = 0;
  std::vector<int64_t> shape, stride;  // of one length, none negative
};

// The tensors of the dict `top`, in its order, or of the dict that it holds as "state_dict",
// "model_state_dict" or "model", as training scripts save. Numbers, texts and other plain values
// beside them are passed over. Throws kBadData where there is no such dict or no tensor, kCorrupt,
// naming the tensor, on arguments that PyTorch would not write.
std::vector<TorchView> read_state_dict(const PickleGraph& graph, NodeId top);

}  // namespace berth
