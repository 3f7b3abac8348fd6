#include "storage/formats/pickle/block_manager.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/numpy_array.h"

namespace berth {
namespace {

FrameBlock read_block(const PickleGraph& graph, NodeId id) {
  const bool known =
      graph.is_made_by(id, Global::kUnpickleBlock) ||
      (graph.is(id, NodeKind::kObject) && graph.is_made_by(graph.callable(id), Global::kPartial));
  if (!known || graph.items(graph.arguments(id)).size() < 2) {
    throw Error(Code::kBadData, cat("holds ", graph.describe(id), " in place of a block"));
  }
  const auto args = graph.items(graph.arguments(id));
  return {args[0], args[1]};
}

void read_axes(const PickleGraph& graph, NodeId axes, FrameBlocks& frame) {
  if (frame.is_series) return;
  const auto both = graph.items_of(axes, 2, "the list of axes");
  frame.columns = both[0];
  frame.index = both[1];
}

// Reads BlockManager(blocks, axes) or SingleBlockManager(block, axis).
void read_arguments(const PickleGraph& graph, std::span<const NodeId> args, FrameBlocks& frame) {
  if (args.size() < 2) throw Error(Code::kCorrupt, "a block manager without axes");
  read_axes(graph, args[1], frame);
  if (!graph.is_sequence(args[0])) {
    frame.blocks.push_back(read_block(graph, args[0]));
    return;
  }
  for (const NodeId block : graph.items(args[0])) frame.blocks.push_back(read_block(graph, block));
}

void read_state(const PickleGraph& graph, NodeId state, FrameBlocks& frame) {
  const auto parts = graph.items_of(state, 4, "the state of a block manager");
  const NodeId fields = graph.find(parts[3], "0.14.1");
  const NodeId blocks = graph.find(fields, "blocks");
  if (!graph.is_sequence(blocks)) {
    throw Error(Code::kBadData, "has a layout of pandas before 0.14.1", "",
                "load it with pandas and save it again");
  }
  read_axes(graph, graph.find(fields, "axes"), frame);
  for (const NodeId block : graph.items(blocks)) {
    frame.blocks.push_back({graph.find(block, "values"), graph.find(block, "mgr_locs")});
  }
}

// A Python slice(start, stop, step) applied to a sequence: the first index, the step, and the
// number of indices.
struct Steps {
  int64_t first, step;
  uint64_t count;
};

// Like Python's slice.indices(), clips bounds that lie outside the sequence.
Steps slice_indices(const PickleGraph& graph, NodeId slice, int64_t size) {
  const auto args = graph.items_of(graph.arguments(slice), 3, "a slice");
  const auto value = [&](NodeId id, int64_t otherwise) {
    if (id == PickleGraph::kNone) return otherwise;
    if (!graph.is(id, NodeKind::kInt)) {
      throw Error(Code::kCorrupt, cat("a slice with ", graph.describe(id)));
    }
    return graph.integer(id);
  };
  const int64_t step = value(args[2], 1);
  if (step == 0 || step == INT64_MIN) throw Error(Code::kCorrupt, "a slice with an invalid step");
  const bool forward = step > 0;
  const int64_t low = forward ? 0 : -1, high = forward ? size : size - 1;
  const auto clip = [&](NodeId id, int64_t otherwise) {
    if (id == PickleGraph::kNone) return otherwise;
    int64_t bound = value(id, 0);
    if (bound < 0) bound += size;
    return std::clamp(bound, low, high);
  };
  const int64_t start = clip(args[0], forward ? low : high);
  const int64_t stop = clip(args[1], forward ? high : low);
  const int64_t distance = forward ? stop - start : start - stop;
  const int64_t stride = forward ? step : -step;
  return {start, step, distance <= 0 ? 0 : static_cast<uint64_t>((distance - 1) / stride + 1)};
}

}  // namespace

FrameBlocks read_block_manager(const PickleGraph& graph, NodeId manager) {
  FrameBlocks frame;
  frame.is_series = graph.is_made_by(manager, Global::kSingleBlockManager);
  if (!frame.is_series && !graph.is_made_by(manager, Global::kBlockManager)) {
    throw Error(Code::kBadData,
                cat("holds ", graph.describe(manager), " in place of a block manager"));
  }
  const auto args = graph.items(graph.arguments(manager));
  const NodeId state = graph.state(manager);
  if (!args.empty()) {
    read_arguments(graph, args, frame);
  } else if (state != PickleGraph::kNone) {
    read_state(graph, state, frame);
  }
  if (frame.is_series && frame.blocks.size() != 1) {
    throw Error(Code::kCorrupt, cat("a Series of ", frame.blocks.size(), " blocks"));
  }
  return frame;
}

std::vector<uint64_t> read_placement(const PickleGraph& graph, NodeId placement, uint64_t count,
                                     uint64_t columns) {
  const auto check_count = [&](uint64_t placed) {
    if (placed == count) return;
    throw Error(Code::kCorrupt, cat("a block of ", count, " columns placed on ", placed));
  };
  std::vector<uint64_t> positions;
  if (graph.is_made_by(placement, Global::kSlice)) {
    const Steps steps = slice_indices(graph, placement, static_cast<int64_t>(columns));
    check_count(steps.count);
    int64_t position = steps.first;
    for (uint64_t i = 0; i < count; ++i) {
      positions.push_back(static_cast<uint64_t>(position));
      if (i + 1 < count) position += steps.step;
    }
    return positions;
  }
  const NumpyArray array = read_numpy_array(graph, placement);
  if (array.dtype.kind != 'i')
    throw Error(Code::kCorrupt, "a block whose positions are not integers");
  check_count(length_of(array));
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t position = array.integer(i);
    if (position < 0 || static_cast<uint64_t>(position) >= columns) {
      throw Error(Code::kCorrupt, cat("a block placed on column ", position, " of ", columns));
    }
    positions.push_back(static_cast<uint64_t>(position));
  }
  return positions;
}

}  // namespace berth
