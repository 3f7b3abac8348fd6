#pragma once

#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// What the opcodes that make Python run code stand for in a table's pickle: nodes, never calls.
// Arguments that no table has are kBadData.

// REDUCE: `callable` applied to the tuple `arguments`. Byte strings that old protocols spell as
// calls (_codecs.encode, bytearray) become bytes.
NodeId reduce_in_table(PickleGraph& graph, NodeId callable, NodeId arguments);

// NEWOBJ: class.__new__(class, *arguments).
NodeId new_in_table(PickleGraph& graph, NodeId cls, NodeId arguments);

// BUILD: gives `object` its state, once.
void build_in_table(PickleGraph& graph, NodeId object, NodeId state);

}  // namespace berth
