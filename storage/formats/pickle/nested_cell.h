#pragma once

#include "storage/formats/pickle/pickle_graph.h"
#include "storage/formats/row_reader.h"

namespace berth {

// Sets `cell` to JSON text if the object is a list, tuple, set, one-dimensional array or dict. Each
// may hold others, up to kDeepestJson levels. Returns false for any other object. Elements that are
// neither text nor numbers become null. Throws kBadData on more than 64 MiB of text, because a
// pickle may refer to one object many times. Also throws it on deeper nesting, and on an object
// that contains itself. is_nested() only says whether the object is one of these.
bool is_nested(const PickleGraph& graph, NodeId id);
bool read_nested(const PickleGraph& graph, NodeId id, Cell& cell);

}  // namespace berth
