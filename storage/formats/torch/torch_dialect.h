#pragma once

#include <map>
#include <string>

#include "storage/base/dtype.h"
#include "storage/formats/pickle/pickle_dialect.h"
#include "storage/formats/pickle/pickle_machine.h"

namespace berth {

// A storage that a pickle refers to: the flat array that one or more tensors view.
struct TorchStorage {
  DType dtype = DType::kF32;
  uint64_t elements = 0;
  uint64_t size_bytes = 0;
  Bytes data{};      // borrowed; empty until the file's layout has been read
  uint32_t crc = 0;  // CRC-32 of `data`; 0 if the file has none
};
using TorchStorages = std::map<std::string, TorchStorage, std::less<>>;  // by key

// The pickles of torch.save: dicts of tensors and plain values. The allowed globals are
// collections.OrderedDict, torch._utils._rebuild_tensor, _rebuild_tensor_v2, _rebuild_parameter,
// and the classes torch.<X>Storage. Everything else is refused, other names in torch included.
// Records the storages that the pickle refers to.
class TorchDialect final : public PickleDialect {
 public:
  std::string_view kind() const override { return "state dict"; }
  std::optional<GlobalEntry> find_global(std::string_view module,
                                         std::string_view name) const override;
  NodeId reduce(PickleGraph& graph, NodeId callable, NodeId arguments) override;
  NodeId new_object(PickleGraph& graph, NodeId cls, NodeId arguments) override;
  void build(PickleGraph& graph, NodeId object, NodeId state) override;
  // Turns ('storage', torch.<X>Storage, key, device, elements[, None]) into an object of
  // kTorchPersistent.
  std::optional<NodeId> persistent(PickleGraph& graph, NodeId id) override;

  // Returns all storages, without their data, including storages that no tensor uses.
  TorchStorages take_storages() { return std::move(storages_); }

 private:
  TorchStorages storages_;
};

// Parses the pickle at the beginning of `file`. Reads at most 8 MiB, because no model needs more.
LoadedPickle load_torch_pickle(Bytes file, TorchDialect& dialect);

// Returns the key of a storage that persistent() created.
std::string_view storage_key(const PickleGraph& graph, NodeId storage);

}  // namespace berth
