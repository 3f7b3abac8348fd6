#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/extension_arrays.h"
#include "storage/formats/pickle/numpy_array.h"
#include "storage/formats/pickle/pickle_graph.h"
#include "storage/formats/pickle/table.h"

namespace berth {
namespace {

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

// Returns the positions, in 0..`columns`, of the `count` columns of a block. Throws kCorrupt if
// they do not fit.
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

// Returns the labels of a pandas Index as cells; there are at most claim_limit() of them. The index
// is _new_Index(class, {"data", "name"}), or for a RangeIndex {"start", "stop", "step"}. Throws
// kBadData, naming the kind of index, if its labels are neither text nor numbers.
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

// A level of the index of a table's rows, which pandas writes as a column in other formats.
struct IndexLevel {
  std::string name;
  std::unique_ptr<CellSource> cells;
};

// Returns the levels that have names, of an Index or a MultiIndex. Leaves out levels that are
// neither text nor numbers, and an index of another kind.
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

// Whether `id` is a Categorical array, of any version of pandas.
bool is_categorical(const PickleGraph& graph, NodeId id) {
  if (graph.is_made_by(id, Global::kCategorical)) return true;
  if (!graph.is_made_by(id, Global::kUnpickleArray)) return false;
  const auto args = graph.items(graph.arguments(id));
  return !args.empty() && graph.is_global(args[0], Global::kCategorical);
}

// Returns the cells of a Categorical, and its categories, in their order, in `categories`. Reading
// a cell throws kCorrupt if its code is neither -1 (missing) nor the code of a category.
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

// Returns the labels of an index (or CategoricalIndex) as column names.
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

constexpr uint64_t kBudgetFactor = 64;

class FrameReader {
 public:
  FrameReader(const PickleGraph& graph, NodeId top)
      : graph_(graph), budget_(kBudgetFactor * graph.claim_limit()) {
    const NodeId state = graph.state(top);
    NodeId manager = state;  // before pandas 0.17 the manager itself is the state
    if (graph.is(state, NodeKind::kDict)) {
      manager = graph.find(state, "_mgr");
      if (manager == PickleGraph::kNone) manager = graph.find(state, "_data");
    }
    const FrameBlocks frame = read_block_manager(graph, manager);
    if (frame.is_series) {
      read_series(state, frame.blocks[0].values);
    } else {
      read_frame(frame);
    }
    drop_dates();
    add_index(frame.index);
  }

  Table take() { return std::move(table_); }

 private:
  // `cells` is nullptr for a column of an unsupported type; drop_dates() fills it in.
  void place(uint64_t column, std::unique_ptr<CellSource> cells) {
    if (cells) {
      if (rows_known_ && cells->size() != table_.rows) {
        throw Error(Code::kCorrupt,
                    cat("a column of ", cells->size(), " rows beside one of ", table_.rows));
      }
      rows_known_ = true;
      table_.rows = cells->size();
    }
    if (placed_[column]) throw Error(Code::kCorrupt, cat("column ", column, " is held twice"));
    placed_[column] = true;
    table_.values[column] = std::move(cells);
  }

  std::unique_ptr<CellSource> read_column(NodeId values, Column& column) {
    if (is_categorical(graph_, values)) {
      return read_categorical(graph_, values, budget_, column.categories);
    }
    return read_plain_array(graph_, values, budget_);
  }

  void add_column(std::string name) {
    budget_.spend(sizeof(Column) + sizeof(NumpyArray));
    table_.columns.push_back({std::move(name), {}});
    table_.values.emplace_back();
    placed_.push_back(false);
  }

  void read_series(NodeId state, NodeId values) {
    NodeId name = graph_.find(state, "_name");
    if (name == PickleGraph::kNone) name = graph_.find(state, "name");
    Cell cell = int64_t{0};  // pandas' name for the column of an unnamed Series
    if (name != PickleGraph::kNone) read_object(graph_, name, cell);
    add_column(cell_text(cell));
    place(0, read_column(values, table_.columns[0]));
  }

  void read_frame(const FrameBlocks& frame) {
    if (frame.columns != PickleGraph::kNone) {
      for (std::string& name : read_names(graph_, frame.columns, budget_)) {
        add_column(std::move(name));
      }
    }
    for (const FrameBlock& block : frame.blocks) {
      if (is_numpy_array(graph_, block.values)) {
        read_numpy_block(block);
      } else {
        read_pandas_block(block);
      }
    }
    for (size_t i = 0; i < placed_.size(); ++i) {
      if (!placed_[i]) throw Error(Code::kCorrupt, cat("column ", i, " is held by no block"));
    }
  }

  void read_numpy_block(const FrameBlock& block) {
    const NumpyArray array = read_numpy_array(graph_, block.values);
    if (array.shape.size() != 2) {
      throw Error(Code::kCorrupt, cat("a block of ", array.shape.size(), " dimensions"));
    }
    const uint64_t width = array.shape[0], rows = array.shape[1];
    const bool by_rows = array.column_major && array.dtype.kind != 'O';
    const auto columns = read_placement(graph_, block.placement, width, table_.columns.size());
    for (uint64_t i = 0; i < width; ++i) {
      place(columns[i],
            array_cells(graph_, array, by_rows ? i : i * rows, by_rows ? width : 1, rows));
    }
  }

  // A pandas array is one column. A block of dates may be several columns, all of which read as
  // missing.
  void read_pandas_block(const FrameBlock& block) {
    Column read;
    auto cells = read_column(block.values, read);
    if (!cells) {
      place_dates(block);
      return;
    }
    const auto columns = read_placement(graph_, block.placement, 1, table_.columns.size());
    table_.columns[columns[0]].categories = std::move(read.categories);
    place(columns[0], std::move(cells));
  }

  void place_dates(const FrameBlock& block) {
    uint64_t width = 1;
    if (graph_.is_made_by(block.values, Global::kUnpickleArray)) {
      const NodeId array = read_backed_array(graph_, block.values).array;
      if (is_numpy_array(graph_, array)) {
        const auto shape = read_numpy_array(graph_, array).shape;
        if (shape.size() == 2) width = shape[0];
      }
    }
    for (const uint64_t column :
         read_placement(graph_, block.placement, width, table_.columns.size())) {
      place(column, nullptr);
    }
  }

  // Parquet and Arrow have the named levels of the index behind the other columns, too.
  void add_index(NodeId index) {
    for (IndexLevel& level : read_levels(graph_, index, budget_)) {
      const bool is_column = find_column(table_.columns, level.name).has_value();
      if (is_column || level.cells->size() != table_.rows) continue;
      table_.columns.push_back({std::move(level.name), {}});
      table_.columns.back().is_index = true;
      table_.values.push_back(std::move(level.cells));
    }
  }

  void drop_dates() {
    if (!rows_known_ && !table_.columns.empty()) {
      throw Error(Code::kBadData, "has no column of text or numbers");
    }
    for (size_t i = 0; i < table_.values.size(); ++i) {
      if (table_.values[i]) continue;
      table_.values[i] = std::make_unique<MissingCells>(table_.rows);
      table_.columns[i].unreadable =
          "timestamps, or other values that are neither texts nor numbers";
    }
  }

  const PickleGraph& graph_;
  MemoryBudget budget_;
  Table table_;
  std::vector<bool> placed_;
  bool rows_known_ = false;
};

}  // namespace

bool is_data_frame(const PickleGraph& graph, NodeId top) {
  return graph.is_made_by(top, Global::kDataFrame) || graph.is_made_by(top, Global::kSeries);
}

Table read_data_frame(const PickleGraph& graph, NodeId top) {
  return FrameReader(graph, top).take();
}

}  // namespace berth
