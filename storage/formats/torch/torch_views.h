#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// One tensor of a state dict, which is a view of a storage. All numbers count elements. Nothing has
// been compared with the storage's size yet.
struct TorchView {
  std::string name;
  std::string storage;  // the key of its storage
  uint64_t offset = 0;
  std::vector<int64_t> shape, stride;  // of equal length; no value is negative
};

// Returns the tensors of the dict `top`, in its order. Training scripts often save a dict that
// contains the state dict as "state_dict", "model_state_dict", "model" or "module" (DeepSpeed);
// then that inner dict is used. Other values, such as numbers and texts, are skipped. Throws
// kBadData if there is no such dict or no tensor, and kCorrupt, naming the tensor, on arguments
// that PyTorch would not write.
std::vector<TorchView> read_state_dict(const PickleGraph& graph, NodeId top);

}  // namespace berth
