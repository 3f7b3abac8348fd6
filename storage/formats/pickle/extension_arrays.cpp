#include "storage/formats/pickle/extension_arrays.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/numpy_array.h"
#include "storage/formats/pickle/pickle_graph.h"

namespace berth {
namespace {

struct ArrowType {
  std::string_view alias;
  char kind;           // numpy's kind; U: text, V: reads as missing
  uint32_t item_size;  // bytes of a value, or of an offset into the text
};

constexpr ArrowType kArrowTypes[] = {
    {"string", 'U', 4}, {"large_string", 'U', 8}, {"bool", 'b', 0},    {"int8", 'i', 1},
    {"int16", 'i', 2},  {"int32", 'i', 4},        {"int64", 'i', 8},   {"uint8", 'u', 1},
    {"uint16", 'u', 2}, {"uint32", 'u', 4},       {"uint64", 'u', 8},  {"halffloat", 'f', 2},
    {"float", 'f', 4},  {"float32", 'f', 4},      {"float64", 'f', 8}, {"double", 'f', 8},
};

ArrowType read_type(const PickleGraph& graph, NodeId id) {
  if (graph.is_made_by(id, Global::kArrowType)) {
    const auto args = graph.items_of(graph.arguments(id), 1, "pyarrow's type_for_alias");
    const auto* found =
        std::find_if(std::begin(kArrowTypes), std::end(kArrowTypes), [&](const auto& type) {
          return graph.is_text(args[0]) && graph.text(args[0]) == type.alias;
        });
    if (found != std::end(kArrowTypes)) return *found;
  }
  return {"", 'V', 0};
}

bool bit(Bytes bits, uint64_t index) {
  return (std::to_integer<int>(bits[index / 8]) >> (index % 8) & 1) != 0;
}

class ArrowCells final : public CellSource {
 public:
  ArrowCells(const PickleGraph& graph, NodeId id) : graph_(graph) {
    if (!graph.is_made_by(id, Global::kArrowRestore)) {
      throw Error(Code::kBadData, cat("holds ", graph.describe(id), " in place of an Arrow array"));
    }
    const auto args = graph.items_of(graph.arguments(id), 1, "pyarrow's _restore_array");
    const auto parts = graph.items_of(args[0], 7, "an Arrow array");
    type_ = read_type(graph, parts[0]);
    length_ = size(parts[1]);
    offset_ = size(parts[3]);
    if (type_.kind == 'V') {
      check_claim();
      return;
    }
    const auto buffers =
        graph.items_of(parts[4], type_.kind == 'U' ? 3 : 2, "an Arrow buffer list");
    has_validity_ = buffers[0] != PickleGraph::kNone;
    if (has_validity_) validity_ = buffer(buffers[0]);
    values_.dtype = {type_.kind == 'U' ? 'i' : type_.kind, type_.item_size, false};
    values_.bytes = buffer(buffers[1]);
    if (type_.kind == 'U') text_ = as_text(buffer(buffers[2]));
    check_sizes();
  }

  uint64_t size() const override { return length_; }

  void read(uint64_t index, Cell& cell) const override { read_stored(offset_ + index, cell); }

 private:
  uint64_t size(NodeId id) const {
    if (!graph_.is(id, NodeKind::kInt) || graph_.integer(id) < 0) {
      throw Error(Code::kCorrupt, "an Arrow array whose size is not a number");
    }
    return static_cast<uint64_t>(graph_.integer(id));
  }

  Bytes buffer(NodeId id) const {
    if (id == PickleGraph::kNone) return {};
    if (!graph_.is_made_by(id, Global::kArrowBuffer)) {
      throw Error(Code::kBadData, cat("holds ", graph_.describe(id), " as an Arrow buffer"));
    }
    const auto args = graph_.items_of(graph_.arguments(id), 1, "pyarrow's py_buffer");
    if (!graph_.is(args[0], NodeKind::kBytes)) {
      throw Error(Code::kBadData, cat("holds an Arrow buffer of ", graph_.describe(args[0])));
    }
    return graph_.bytes(args[0]);
  }

  void check_claim() const {
    if (length_ > graph_.claim_limit()) {
      throw Error(Code::kBadData, cat("claims ", length_, " values but does not contain them"));
    }
  }

  void check_sizes() const {
    if (length_ == 0) return;
    uint64_t end = 0, wanted = 0;
    const bool text = type_.kind == 'U';
    bool overflow = __builtin_add_overflow(length_, offset_, &end) || end > UINT64_MAX - 8;
    if (type_.kind == 'b') {
      wanted = end / 8 + (end % 8 != 0);
    } else {
      overflow = overflow || __builtin_mul_overflow(end + text, type_.item_size, &wanted);
    }
    if (overflow || wanted > values_.bytes.size() ||
        (has_validity_ && end / 8 + (end % 8 != 0) > validity_.size())) {
      throw Error(Code::kCorrupt, cat("an Arrow array of ", length_, " values with short buffers"));
    }
  }

  void read_stored(uint64_t index, Cell& cell) const {
    if (type_.kind == 'V' || (has_validity_ && !bit(validity_, index))) {
      cell = std::monostate();
    } else if (type_.kind == 'b') {
      cell = bit(values_.bytes, index);
    } else if (type_.kind != 'U') {
      values_.read(graph_, index, cell);
    } else {
      const int64_t begin = values_.integer(index), end = values_.integer(index + 1);
      if (begin < 0 || end < begin || static_cast<uint64_t>(end) > text_.size()) {
        throw Error(Code::kCorrupt,
                    cat("an Arrow text from byte ", begin, " to ", end, " of ", text_.size()));
      }
      set_text(text_.substr(begin, end - begin), cell);
    }
  }

  const PickleGraph& graph_;
  ArrowType type_;
  uint64_t length_ = 0, offset_ = 0;
  bool has_validity_ = false;
  Bytes validity_;
  NumpyArray values_;  // or the offsets of texts
  std::string_view text_;
};

class ChunkedCells final : public CellSource {
 public:
  void append(std::unique_ptr<CellSource> chunk) {
    if (__builtin_add_overflow(size_, chunk->size(), &size_)) {
      throw Error(Code::kCorrupt, "Arrow chunks whose sizes overflow 64 bits");
    }
    chunks_.push_back(std::move(chunk));
    ends_.push_back(size_);
  }
  uint64_t size() const override { return size_; }
  void read(uint64_t index, Cell& cell) const override {
    const size_t chunk = std::upper_bound(ends_.begin(), ends_.end(), index) - ends_.begin();
    chunks_[chunk]->read(index - (chunk == 0 ? 0 : ends_[chunk - 1]), cell);
  }

 private:
  std::vector<std::unique_ptr<CellSource>> chunks_;
  std::vector<uint64_t> ends_;
  uint64_t size_ = 0;
};

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
                                             MemoryBudget& budget) {
  if (!graph.is_made_by(id, Global::kArrowChunked)) return std::make_unique<ArrowCells>(graph, id);
  const auto args = graph.items(graph.arguments(id));
  if (args.empty() || !graph.is_sequence(args[0])) {
    throw Error(Code::kCorrupt, "an Arrow column without its list of chunks");
  }
  auto cells = std::make_unique<ChunkedCells>();
  for (const NodeId chunk : graph.items(args[0])) {
    budget.spend(sizeof(ArrowCells));
    cells->append(std::make_unique<ArrowCells>(graph, chunk));
  }
  return cells;
}

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
