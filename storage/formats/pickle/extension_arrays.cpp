#include "storage/formats/pickle/extension_arrays.h"

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/arrow_array.h"
#include "storage/formats/pickle/numpy_array.h"

namespace berth {
namespace {

std::unique_ptr<CellSource> read_vector(const PickleGraph& graph, NodeId id) {
  NumpyArray array = read_numpy_array(graph, id);
  const uint64_t length = length_of(array);
  return array_cells(graph, std::move(array), 0, 1, length);
}

// pandas' IntegerArray, FloatingArray and BooleanArray: {_data, _mask}. The mask is true where a
// value is missing.
class MaskedCells final : public CellSource {
 public:
  MaskedCells(const PickleGraph& graph, NodeId state)
      : values_(read_vector(graph, graph.find(state, "_data"))),
        mask_(read_numpy_array(graph, graph.find(state, "_mask"))) {
    if (mask_.dtype.kind != 'b' || length_of(mask_) != values_->size()) {
      throw Error(Code::kCorrupt, "a nullable array whose mask does not fit it");
    }
  }
  uint64_t size() const override { return values_->size(); }
  void read(uint64_t index, Cell& cell) const override {
    if (mask_.integer(index) != 0) {
      cell = std::monostate();
    } else {
      values_->read(index, cell);
    }
  }
  std::string unreadable() const override { return values_->unreadable(); }
  bool holds_nested() const override { return values_->holds_nested(); }

 private:
  std::unique_ptr<CellSource> values_;
  NumpyArray mask_;
};

}  // namespace

BackedArray read_backed_array(const PickleGraph& graph, NodeId id) {
  const auto args = graph.items_of(graph.arguments(id), 3, "pandas' NDArrayBacked");
  const NodeId state = graph.state(id);
  if (!graph.is(state, NodeKind::kTuple) || graph.items(state).size() < 2) {
    throw Error(Code::kCorrupt, cat("a pandas array whose state is ", graph.describe(state)));
  }
  const auto parts = graph.items(state);
  if (is_numpy_array(graph, parts[0])) return {args[0], parts[1], parts[0]};
  return {args[0], parts[0], parts[1]};
}

std::unique_ptr<CellSource> read_plain_array(const PickleGraph& graph, NodeId id,
                                             MemoryBudget& budget) {
  if (is_numpy_array(graph, id)) return read_vector(graph, id);
  if (graph.is(id, NodeKind::kList)) return object_cells(graph, graph.items(id));
  if (graph.is_made_by(id, Global::kUnpickleArray)) {
    const BackedArray backed = read_backed_array(graph, id);
    if (!graph.is_global(backed.cls, Global::kStringArray)) return nullptr;
    return read_vector(graph, backed.array);
  }
  if (graph.is_made_by(id, Global::kOther)) return nullptr;
  const NodeId state = graph.is(id, NodeKind::kObject) ? graph.state(id) : PickleGraph::kNone;
  if (graph.is_made_by(id, Global::kStringArray)) {
    return read_vector(graph, graph.find(state, "_ndarray"));
  }
  if (graph.is_made_by(id, Global::kMaskedArray))
    return std::make_unique<MaskedCells>(graph, state);
  if (graph.is_made_by(id, Global::kArrowArray)) {
    const NodeId current = graph.find(state, "_pa_array");
    return read_arrow_array(
        graph, current != PickleGraph::kNone ? current : graph.find(state, "_data"), budget);
  }
  throw Error(Code::kBadData, cat("holds ", graph.describe(id), " in place of an array"));
}

}  // namespace berth
