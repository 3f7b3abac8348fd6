#pragma once

#include <vector>

#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// A block: some columns of one type. `values` has k columns x n rows, or just n values. `placement`
// gives the columns' positions as a slice or an array; a Series has none.
struct FrameBlock {
  NodeId values, placement;
};

// The values of a DataFrame or Series, in any layout of pandas 0.14.1 to 3.x:
//
//   BlockManager((block, ...), [columns, rows])      1.3 and later, REDUCE
//   BlockManager, BUILD (axes, values, items, {"0.14.1": {"axes", "blocks": [{"values",
//     "mgr_locs"}, ...]}})                           before
//   SingleBlockManager likewise, with one block and one axis
//
// A block is _unpickle_block(values, placement, ndim), or in pandas 1.3 new_block(values,
// placement) called through functools.partial.
struct FrameBlocks {
  bool is_series = false;
  // The indices of both axes. kNone for a Series or an empty frame.
  NodeId columns = PickleGraph::kNone, index = PickleGraph::kNone;
  std::vector<FrameBlock> blocks;
};

FrameBlocks read_block_manager(const PickleGraph& graph, NodeId manager);

// Returns the positions, in 0..`columns`, of the `count` columns of a block. Throws kCorrupt if
// they do not fit.
std::vector<uint64_t> read_placement(const PickleGraph& graph, NodeId placement, uint64_t count,
                                     uint64_t columns);

}  // namespace berth
