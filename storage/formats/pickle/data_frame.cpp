#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/block_manager.h"
#include "storage/formats/pickle/extension_arrays.h"
#include "storage/formats/pickle/numpy_array.h"
#include "storage/formats/pickle/pandas_index.h"
#include "storage/formats/pickle/table.h"

namespace berth {
namespace {

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
