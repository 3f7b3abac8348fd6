#pragma once

#include <memory>

#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// Reads a pyarrow Array or ChunkedArray (Arrow columnar format 1.0) from one of pandas'
// Arrow-backed columns:
//
//   _restore_array((type, length, null_count, offset, [buffers], [children], dictionary))
//   chunked_array([arrays], type)
//
// The buffers are the validity bits (least significant first; None means that all are valid) and
// the values. An array of texts has offsets (i32, or i64 for "large_string") and then UTF-8. Types
// that are neither text nor numbers read as missing. Throws kCorrupt if a buffer is too short for
// the length.
std::unique_ptr<CellSource> read_arrow_array(const PickleGraph& graph, NodeId id,
                                             MemoryBudget& budget);

}  // namespace berth
