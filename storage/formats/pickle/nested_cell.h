#pragma once

#include "storage/formats/pickle/pickle_graph.h"
#include "storage/formats/row_reader.h"

namespace berth {

// A list, tuple, set or array of one dimension as JSON text, or a dict of such; false where the
// object is none of them. What stands in it and is neither text nor number becomes null. Throws
// kBadData beyond 64 MiB of text: a shared object may be named many times.
bool read_nested(const PickleGraph& graph, NodeId id, Cell& cell);

}  // namespace berth
