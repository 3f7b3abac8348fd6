#pragma once

#include <memory>

#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// The two parts of a pandas array kept by NDArrayBacked: __pyx_unpickle_NDArrayBacked(class,
// checksum, None), BUILD (dtype, array, {...}), the first two in either order.
struct BackedArray {
  NodeId cls, dtype, array;
};
BackedArray read_backed_array(const PickleGraph& graph, NodeId id);

// The cells of a 1-D array of values: numpy's, or pandas' StringArray, masked (nullable) or
// Arrow-backed one; a list of objects too. nullptr: a pandas array of neither text nor numbers.
std::unique_ptr<CellSource> read_plain_array(const PickleGraph& graph, NodeId id,
                                             MemoryBudget& budget);

}  // namespace berth
