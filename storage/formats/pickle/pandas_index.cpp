#include "storage/formats/pickle/pandas_index.h"

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/extension_arrays.h"
#include "storage/formats/pickle/numpy_array.h"

namespace berth {
namespace {

class RangeCells final : public CellSource {
 public:
  RangeCells(const PickleGraph& graph, NodeId range)
      : start_(bound(graph, range, "start", 0)), step_(bound(graph, range, "step", 1)) {
    const int64_t stop = bound(graph, range, "stop", 0);
    if (step_ == 0) throw Error(Code::kCorrupt, "a RangeIndex of step 0");
    const auto distance = step_ > 0 ? __int128{stop} - start_ : __int128{start_} - stop;
    const auto step = step_ > 0 ? __int128{step_} : -__int128{step_};
    const auto size = distance <= 0 ? __int128{0} : (distance + step - 1) / step;
    if (size > graph.claim_limit()) {
      throw Error(Code::kBadData, "a RangeIndex of more labels than the file has bytes");
    }
    size_ = static_cast<uint64_t>(size);
  }
  uint64_t size() const override { return size_; }
  void read(uint64_t index, Cell& cell) const override {
    // Unsigned arithmetic, because the product may overflow 64 bits although the sum does not.
    cell =
        static_cast<int64_t>(static_cast<uint64_t>(start_) + index * static_cast<uint64_t>(step_));
  }

 private:
  static int64_t bound(const PickleGraph& graph, NodeId range, const char* key, int64_t otherwise) {
    const NodeId id = graph.find(range, key);
    if (id == PickleGraph::kNone) return otherwise;
    if (graph.is(id, NodeKind::kInt)) return graph.integer(id);
    throw Error(Code::kCorrupt, cat("a RangeIndex whose ", key, " is ", graph.describe(id)));
  }

  const int64_t start_, step_;
  uint64_t size_ = 0;
};

class CategoricalCells final : public CellSource {
 public:
  CategoricalCells(NumpyArray codes, std::vector<Cell> categories, std::string unreadable)
      : codes_(std::move(codes)),
        size_(length_of(codes_)),
        categories_(std::move(categories)),
        unreadable_(std::move(unreadable)) {
    if (codes_.dtype.kind != 'i') throw Error(Code::kCorrupt, "categories without integer codes");
  }
  uint64_t size() const override { return size_; }
  void read(uint64_t index, Cell& cell) const override {
    const int64_t code = codes_.integer(index);
    if (code == -1) {
      cell = std::monostate();
    } else if (code >= 0 && static_cast<uint64_t>(code) < categories_.size()) {
      cell = categories_[static_cast<size_t>(code)];
    } else {
      throw Error(Code::kCorrupt,
                  cat("code ", code, " of a category, of which there are ", categories_.size()));
    }
  }
  std::string unreadable() const override { return unreadable_; }

 private:
  const NumpyArray codes_;
  const uint64_t size_;
  const std::vector<Cell> categories_;
  const std::string unreadable_;
};

// Returns the dict of an index that _new_Index made. Throws kBadData on anything else.
NodeId index_fields(const PickleGraph& graph, NodeId id, bool& is_range) {
  if (graph.is_made_by(id, Global::kNewIndex)) {
    const auto args = graph.items_of(graph.arguments(id), 2, "pandas' _new_Index");
    is_range = graph.is_global(args[0], Global::kRangeIndex);
    if (is_range || graph.is_global(args[0], Global::kIndex)) return args[1];
    throw Error(Code::kBadData,
                cat("labels by ", graph.describe(args[0]), ", not by an index of text or numbers"));
  }
  throw Error(Code::kBadData, cat("holds ", graph.describe(id), " in place of an index"));
}

// The labels of an index, each as a cell.
std::vector<Cell> labels_of(const PickleGraph& graph, NodeId id, MemoryBudget& budget) {
  const auto labels = read_index(graph, id, budget);
  std::vector<Cell> cells;
  for (uint64_t i = 0; i < labels->size(); ++i) {
    budget.spend(sizeof(Cell) + sizeof(std::string));
    cells.emplace_back();
    labels->read(i, cells.back());
    if (const auto* text = std::get_if<std::string>(&cells.back())) budget.spend(text->size());
  }
  return cells;
}

std::string name_of(const PickleGraph& graph, NodeId id) {
  return id != PickleGraph::kNone && graph.is_text(id) ? std::string(graph.text(id)) : "";
}

struct CategoricalParts {
  NodeId codes, categories;
};

CategoricalParts categorical_parts(const PickleGraph& graph, NodeId id) {
  if (graph.is_made_by(id, Global::kCategorical)) {
    const NodeId state = graph.state(id);
    const NodeId dtype = graph.find(state, "_dtype");
    if (dtype == PickleGraph::kNone) {  // before pandas 0.21
      return {graph.find(state, "_codes"), graph.find(state, "_categories")};
    }
    if (!graph.is_made_by(dtype, Global::kCategoricalDtype)) {
      throw Error(Code::kCorrupt, cat("categories by ", graph.describe(dtype)));
    }
    return {graph.find(state, "_codes"), graph.find(graph.state(dtype), "categories")};
  }
  const BackedArray backed = read_backed_array(graph, id);
  if (!graph.is_made_by(backed.dtype, Global::kCategoricalDtype)) {
    throw Error(Code::kCorrupt, cat("categories by ", graph.describe(backed.dtype)));
  }
  return {backed.array, graph.find(graph.state(backed.dtype), "categories")};
}

}  // namespace

std::unique_ptr<CellSource> read_index(const PickleGraph& graph, NodeId id, MemoryBudget& budget) {
  bool is_range = false;
  const NodeId fields = index_fields(graph, id, is_range);
  if (is_range) return std::make_unique<RangeCells>(graph, fields);
  auto cells = read_plain_array(graph, graph.find(fields, "data"), budget);
  if (!cells) throw Error(Code::kBadData, "labels by an index of neither text nor numbers");
  if (cells->size() > graph.claim_limit()) {
    throw Error(Code::kBadData, "an index of more labels than the file has bytes");
  }
  return cells;
}

std::vector<IndexLevel> read_levels(const PickleGraph& graph, NodeId id, MemoryBudget& budget) {
  std::vector<IndexLevel> found;
  if (id == PickleGraph::kNone || !graph.is_made_by(id, Global::kNewIndex)) return found;
  const auto args = graph.items_of(graph.arguments(id), 2, "pandas' _new_Index");
  const auto add = [&](NodeId name_id, const auto& read) {
    std::string name = name_of(graph, name_id);
    if (name.empty()) return;
    try {
      if (auto cells = read()) found.push_back({std::move(name), std::move(cells)});
    } catch (const Error& error) {
      if (error.code() != Code::kBadData) throw;
    }
  };
  const NodeId levels = graph.find(args[1], "levels");
  if (levels == PickleGraph::kNone) {
    // What pandas makes of row numbers is a RangeIndex, and no column in other formats either.
    if (graph.is_global(args[0], Global::kIndex)) {
      add(graph.find(args[1], "name"), [&] { return read_index(graph, id, budget); });
    }
    return found;
  }
  NodeId codes = graph.find(args[1], "codes");
  if (codes == PickleGraph::kNone) codes = graph.find(args[1], "labels");  // before pandas 0.24
  const NodeId names = graph.find(args[1], "names");
  if (!graph.is_sequence(levels) || !graph.is_sequence(codes) || !graph.is_sequence(names)) {
    return found;
  }
  const auto of = [&](NodeId list, size_t i) {
    const auto items = graph.items(list);
    return i < items.size() ? items[i] : PickleGraph::kNone;
  };
  for (size_t i = 0; i < graph.items(levels).size(); ++i) {
    add(of(names, i), [&]() -> std::unique_ptr<CellSource> {
      const NodeId code = of(codes, i);
      if (code == PickleGraph::kNone || !is_numpy_array(graph, code)) return nullptr;
      return std::make_unique<CategoricalCells>(read_numpy_array(graph, code),
                                                labels_of(graph, of(levels, i), budget), "");
    });
  }
  return found;
}

bool is_categorical(const PickleGraph& graph, NodeId id) {
  if (graph.is_made_by(id, Global::kCategorical)) return true;
  if (!graph.is_made_by(id, Global::kUnpickleArray)) return false;
  const auto args = graph.items(graph.arguments(id));
  return !args.empty() && graph.is_global(args[0], Global::kCategorical);
}

std::unique_ptr<CellSource> read_categorical(const PickleGraph& graph, NodeId id,
                                             MemoryBudget& budget,
                                             std::vector<std::string>& categories) {
  const CategoricalParts parts = categorical_parts(graph, id);
  std::string unreadable = read_index(graph, parts.categories, budget)->unreadable();
  std::vector<Cell> cells = labels_of(graph, parts.categories, budget);
  for (const Cell& cell : cells) {
    categories.push_back(cell_text(cell));
    budget.spend(categories.back().size());
  }
  return std::make_unique<CategoricalCells>(read_numpy_array(graph, parts.codes), std::move(cells),
                                            std::move(unreadable));
}

std::vector<std::string> read_names(const PickleGraph& graph, NodeId id, MemoryBudget& budget) {
  bool is_range = false;
  const NodeId fields = index_fields(graph, id, is_range);
  const NodeId data = is_range ? PickleGraph::kNone : graph.find(fields, "data");
  std::vector<std::string> categories, names;
  const auto cells = is_categorical(graph, data) ? read_categorical(graph, data, budget, categories)
                                                 : read_index(graph, id, budget);
  for (uint64_t i = 0; i < cells->size(); ++i) {
    Cell cell;
    cells->read(i, cell);
    names.push_back(cell_text(cell));
    budget.spend(sizeof(std::string) + names.back().size());
  }
  return names;
}

}  // namespace berth
