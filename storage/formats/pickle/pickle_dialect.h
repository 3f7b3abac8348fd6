#pragma once

#include <optional>
#include <string_view>

#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// What the pickles of one kind of file may name, and what the opcodes that make Python run code
// stand for in them: nodes, never calls. Whatever the kind does not need is refused with kBadData.
class PickleDialect {
 public:
  virtual ~PickleDialect() = default;

  // "table": for messages.
  virtual std::string_view kind() const = 0;

  // The entry of exactly this pair; nullopt: no part of such a file.
  virtual std::optional<GlobalEntry> find_global(std::string_view module,
                                                 std::string_view name) const = 0;
  // REDUCE: `callable` applied to `arguments`.
  virtual NodeId reduce(PickleGraph& graph, NodeId callable, NodeId arguments) = 0;
  // NEWOBJ: cls.__new__(cls, *arguments).
  virtual NodeId new_object(PickleGraph& graph, NodeId cls, NodeId arguments) = 0;
  // BUILD: gives `object` its state.
  virtual void build(PickleGraph& graph, NodeId object, NodeId state) = 0;
  // BINPERSID: what lies outside of the pickle under `id`; nullopt: nothing ever does.
  virtual std::optional<NodeId> persistent(PickleGraph& graph, NodeId id) = 0;
};

}  // namespace berth
