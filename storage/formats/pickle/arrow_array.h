#pragma once

#include <memory>

#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// A pyarrow Array or ChunkedArray (Arrow columnar format 1.0), as pandas' Arrow-backed columns
// hold it:
//
//   _restore_array((type, length, null_count, offset, [buffers], [children], dictionary))
//   chunked_array([arrays], type)
//
// Buffers: validity bits (least significant first; None: all valid), then values; of texts,
// offsets (i32, or i64 of "large_string") and UTF-8. Types that are neither text nor numbers read
// as missing. Throws kCorrupt when a buffer is shorter than the length needs.
std::unique_ptr<CellSource> read_arrow_array(const PickleGraph& graph, NodeId id,
                                             MemoryBudget& budget);

}  // namespace berth
