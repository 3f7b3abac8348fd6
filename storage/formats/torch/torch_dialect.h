#pragma once

#include <map>
#include <string>

#include "storage/base/dtype.h"
#include "storage/formats/pickle/pickle_dialect.h"
#include "storage/formats/pickle/pickle_machine.h"

namespace berth {

// A storage that a pickle refers to: the flat array that one or more tensors are views of.
struct TorchStorage {
  DType dtype = DType::kF32;
  uint64_t elements = 0;
  uint64_t size_bytes = 0;
  Bytes data{};      // size_bytes, once the file's layout has told where; borrowed
  uint32_t crc = 0;  // CRC-32 of `data`; 0: the file has none
};
using TorchStorages = std::map<std::string, TorchStorage, std::less<>>;  // by key

// Pickles of torch.save: dicts of tensors and plain values. The globals are
// collections.OrderedDict, torch._utils._rebuild_tensor, _rebuild_tensor_v2 and _rebuild_parameter,
// and the classes torch.<X>Storage; anything else, of torch too, is refused. Notes the storages
// referred to.
class TorchDialect final : public PickleDialect {
 public:
  std::string_view kind() const override { return "state dict"; }
  std::optional<GlobalEntry> find_global(std::string_view module,
                                         std::string_view name) const override;
  NodeId reduce(PickleGraph& graph, NodeId callable, NodeId arguments) override;
  NodeId new_object(PickleGraph& graph, NodeId cls, NodeId arguments) override;
  void build(PickleGraph& graph, NodeId object, NodeId state) override;
  // ('storage', torch.<X>Storage, key, device, elements[, None]) as an object of kTorchPersistent.
  std::optional<NodeId> persistent(PickleGraph& graph, NodeId id) override;

  // All storages, without data, whether a tensor of the state dict uses them or not.
  TorchStorages take_storages() { return std::move(storages_); }

 private:
  TorchStorages storages_;
};

// Runs the pickle at the front of `file`. What goes on for more than 8 MiB describes no model.
LoadedPickle load_torch_pickle(Bytes file, TorchDialect& dialect);

// The key of a storage that persistent() made.
std::string_view storage_key(const PickleGraph& graph, NodeId storage);

}  // namespace berth
