#pragma once

#include <optional>
#include <string_view>

#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// Decides, for one kind of file, which globals a pickle may name and what the opcodes that would
// run code in Python mean. They create inert nodes and never call anything. Whatever the kind of
// file does not need is refused with kBadData.
class PickleDialect {
 public:
  virtual ~PickleDialect() = default;

  // The kind of file, for messages: "table".
  virtual std::string_view kind() const = 0;

  // Returns the entry of exactly this pair, or nullopt if such a file does not contain it.
  virtual std::optional<GlobalEntry> find_global(std::string_view module,
                                                 std::string_view name) const = 0;
  // REDUCE: applies `callable` to `arguments`.
  virtual NodeId reduce(PickleGraph& graph, NodeId callable, NodeId arguments) = 0;
  // NEWOBJ: cls.__new__(cls, *arguments).
  virtual NodeId new_object(PickleGraph& graph, NodeId cls, NodeId arguments) = 0;
  // BUILD: gives `object` its state.
  virtual void build(PickleGraph& graph, NodeId object, NodeId state) = 0;
  // BINPERSID: returns the object outside the pickle that `id` refers to, or nullopt if this kind
  // of file has no such objects.
  virtual std::optional<NodeId> persistent(PickleGraph& graph, NodeId id) = 0;
};

}  // namespace berth
