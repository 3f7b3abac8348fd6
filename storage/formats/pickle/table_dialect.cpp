#include "storage/formats/pickle/table_dialect.h"

#include "storage/formats/pickle/pickle_calls.h"

namespace berth {

std::optional<GlobalEntry> TableDialect::find_global(std::string_view module,
                                                     std::string_view name) const {
  return find_table_global(module, name);
}

NodeId TableDialect::reduce(PickleGraph& graph, NodeId callable, NodeId arguments) {
  return reduce_in_table(graph, callable, arguments);
}

NodeId TableDialect::new_object(PickleGraph& graph, NodeId cls, NodeId arguments) {
  return new_in_table(graph, cls, arguments);
}

void TableDialect::build(PickleGraph& graph, NodeId object, NodeId state) {
  build_in_table(graph, object, state);
}

}  // namespace berth
