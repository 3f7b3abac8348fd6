#pragma once

#include <memory>

#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/pickle_graph.h"

// The arrays that pandas adds to numpy's. Thread-safe. Throws kBadData or kCorrupt where the nodes
// have another form.
namespace berth {

// A pandas array that is stored through NDArrayBacked: __pyx_unpickle_NDArrayBacked(class,
// checksum, None), then BUILD with (dtype, array, {...}), where dtype and array may be swapped.
struct BackedArray {
  NodeId cls, dtype, array;
};
BackedArray read_backed_array(const PickleGraph& graph, NodeId id);

// Returns the cells of a one-dimensional array: numpy's, pandas' StringArray, a masked (nullable)
// or Arrow-backed array, or a list of objects. Returns nullptr for a pandas array of neither text
// nor numbers.
std::unique_ptr<CellSource> read_plain_array(const PickleGraph& graph, NodeId id,
                                             MemoryBudget& budget);

}  // namespace berth
