#pragma once

#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// Handle the opcodes that make Python run code, for the pickles of tables. They create inert nodes
// and never call anything. They throw kBadData on arguments that no table has.

// REDUCE: applies `callable` to the tuple `arguments`. Old protocols write byte strings as calls
// (_codecs.encode, bytearray); these become bytes.
NodeId reduce_in_table(PickleGraph& graph, NodeId callable, NodeId arguments);

// NEWOBJ: class.__new__(class, *arguments).
NodeId new_in_table(PickleGraph& graph, NodeId cls, NodeId arguments);

// BUILD: gives `object` its state. An object can get its state only once.
void build_in_table(PickleGraph& graph, NodeId object, NodeId state);

}  // namespace berth
