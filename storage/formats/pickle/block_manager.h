#pragma once

#include <vector>

#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// Some columns of one type: values (k columns x n rows, or n), and which columns they are (a slice
// or an array of positions; none in a Series).
struct FrameBlock {
  NodeId values, placement;
};

// How a DataFrame or Series keeps its values, in any layout of pandas 0.14.1 to 3.x:
//
//   BlockManager((block, ...), [columns, rows])      1.3 and later, REDUCE
//   BlockManager, BUILD (axes, values, items, {"0.14.1": {"axes", "blocks": [{"values",
//     "mgr_locs"}, ...]}})                           before
//   SingleBlockManager likewise, with one block and one axis
//
// A block is _unpickle_block(values, placement, ndim), or new_block(values, placement) of a partial
// (1.3).
struct FrameBlocks {
  bool is_series = false;
  NodeId columns = PickleGraph::kNone;  // the index; none of a Series or an empty frame
  std::vector<FrameBlock> blocks;
};

FrameBlocks read_block_manager(const PickleGraph& graph, NodeId manager);

// Where in 0..`columns` the `count` columns of a block belong. Throws kCorrupt when they do not
// fit.
std::vector<uint64_t> read_placement(const PickleGraph& graph, NodeId placement, uint64_t count,
                                     uint64_t columns);

}  // namespace berth
