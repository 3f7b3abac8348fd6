#pragma once

#include "storage/formats/pickle/pickle_dialect.h"

namespace berth {

// The dialect of pickled DataFrames and plain tables. It allows the globals of pandas and numpy
// (pickle_globals.h), the calls that tables need (pickle_calls.h), and no objects outside the
// pickle.
class TableDialect final : public PickleDialect {
 public:
  std::string_view kind() const override { return "table"; }
  std::optional<GlobalEntry> find_global(std::string_view module,
                                         std::string_view name) const override;
  NodeId reduce(PickleGraph& graph, NodeId callable, NodeId arguments) override;
  NodeId new_object(PickleGraph& graph, NodeId cls, NodeId arguments) override;
  void build(PickleGraph& graph, NodeId object, NodeId state) override;
  std::optional<NodeId> persistent(PickleGraph&, NodeId) override { return std::nullopt; }
};

}  // namespace berth
