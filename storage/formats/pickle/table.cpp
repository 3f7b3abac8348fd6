#include "storage/formats/pickle/table.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/pickle/numpy_array.h"

namespace berth {
namespace {

// A column whose cells are collected from the dicts of a list.
class GatheredCells final : public CellSource {
 public:
  GatheredCells(const PickleGraph& graph, uint64_t rows)
      : graph_(graph), nodes_(rows, PickleGraph::kNone) {}
  void set(uint64_t row, NodeId id) { nodes_[row] = id; }
  uint64_t size() const override { return nodes_.size(); }
  void read(uint64_t index, Cell& cell) const override { read_cell(graph_, nodes_[index], cell); }
  std::string unreadable() const override {
    std::string what;
    for (size_t i = 0; i < nodes_.size() && what.empty(); ++i) {
      what = unreadable_object(graph_, nodes_[i]);
    }
    return what;
  }
  bool holds_nested() const override {
    return std::ranges::any_of(nodes_, [&](NodeId node) { return is_nested(graph_, node); });
  }

 private:
  const PickleGraph& graph_;
  std::vector<NodeId> nodes_;
};

std::string key_name(const PickleGraph& graph, NodeId key) {
  if (!graph.is_text(key) && !graph.is(key, NodeKind::kInt)) {
    throw Error(Code::kBadData, cat("has ", graph.describe(key), " in place of a column's name"));
  }
  Cell name;
  read_object(graph, key, name);
  return cell_text(name);
}

// Whether an object is a table itself: a DataFrame, or a list of dicts.
bool is_inner_table(const PickleGraph& graph, NodeId id) {
  return is_data_frame(graph, id) || (graph.is(id, NodeKind::kList) && is_plain_table(graph, id));
}

// Refuses {"train": DataFrame, "test": DataFrame}.
void check_is_one_table(const PickleGraph& graph, std::span<const NodeId> pairs) {
  std::string names;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (!is_inner_table(graph, pairs[i + 1])) return;
    if (i < 8) names += (i == 0 ? "" : ", ") + quoted(key_name(graph, pairs[i]));
  }
  throw Error(Code::kBadData, cat("is a dict of tables: ", names), "",
              "pickle each into a file of its own, and name them with --train-data-file and "
              "--eval-data-file; if they are columns, pickle pandas.DataFrame(...) of the dict");
}

// The cells of a list or an array of NumPy. Null: it is neither.
std::unique_ptr<CellSource> list_cells(const PickleGraph& graph, NodeId id) {
  if (graph.is_sequence(id)) return object_cells(graph, graph.items(id));
  if (!is_numpy_array(graph, id)) return nullptr;
  NumpyArray array = read_numpy_array(graph, id);
  const uint64_t length = length_of(array);
  return array_cells(graph, std::move(array), 0, 1, length);
}

Table read_dict_of_lists(const PickleGraph& graph, NodeId top) {
  Table table;
  const auto pairs = graph.items(top);
  check_is_one_table(graph, pairs);
  std::unordered_set<NodeId> keys;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    std::string name = key_name(graph, pairs[i]);
    if (!keys.insert(pairs[i]).second) {
      throw Error(Code::kCorrupt, cat("is a dict with two keys ", quoted(name)));
    }
    auto cells = list_cells(graph, pairs[i + 1]);
    if (!cells) {
      throw Error(Code::kBadData, cat("is a dict whose ", quoted(name), " is ",
                                      graph.describe(pairs[i + 1]), ", not a list or an array"));
    }
    table.values.push_back(std::move(cells));
    const uint64_t rows = table.values.back()->size();
    if (i > 0 && rows != table.rows) {
      throw Error(Code::kBadData, cat("is a dict of lists whose ", quoted(name), " holds ", rows,
                                      " values, but the lists before it hold ", table.rows));
    }
    table.rows = rows;
    table.columns.push_back({std::move(name), {}});
  }
  return table;
}

// The columns are the keys of the first dict. Keys that only later dicts have are ignored.
Table read_list_of_dicts(const PickleGraph& graph, NodeId top) {
  Table table;
  const auto rows = graph.items(top);
  const auto first = graph.items(rows[0]);
  // A pickle can write one dict and use it as many rows. The allowance limits the memory and time
  // that this costs us.
  uint64_t allowance = 4 * graph.claim_limit();
  const auto spend = [&](uint64_t cells) {
    if (cells > allowance) throw Error(Code::kBadData, "repeats its rows to many times its size");
    allowance -= cells;
  };
  std::unordered_map<std::string, GatheredCells*> columns;
  std::unordered_map<NodeId, GatheredCells*> by_key;  // the text of each key is compared only once
  for (size_t i = 0; i < first.size(); i += 2) {
    if (by_key.contains(first[i])) continue;
    std::string name = key_name(graph, first[i]);
    GatheredCells*& column = columns[name];
    if (column == nullptr) {
      spend(rows.size());
      auto cells = std::make_unique<GatheredCells>(graph, rows.size());
      column = cells.get();
      table.columns.push_back({std::move(name), {}});
      table.values.push_back(std::move(cells));
    }
    by_key.emplace(first[i], column);
  }
  for (uint64_t row = 0; row < rows.size(); ++row) {
    if (!graph.is(rows[row], NodeKind::kDict)) {
      throw Error(Code::kBadData, cat("is ", graph.describe(rows[row]), ", not a dict"),
                  cat("row ", row));
    }
    const auto pairs = graph.items(rows[row]);
    spend(pairs.size());
    for (size_t i = 0; i < pairs.size(); i += 2) {
      auto known = by_key.find(pairs[i]);
      if (known == by_key.end()) {
        const auto named = columns.find(key_name(graph, pairs[i]));
        known = by_key.emplace(pairs[i], named == columns.end() ? nullptr : named->second).first;
      }
      if (known->second != nullptr) known->second->set(row, pairs[i + 1]);
    }
  }
  table.rows = rows.size();
  return table;
}

}  // namespace

bool is_plain_table(const PickleGraph& graph, NodeId top) {
  if (graph.is(top, NodeKind::kDict)) return !graph.items(top).empty();
  return graph.is(top, NodeKind::kList) && !graph.items(top).empty() &&
         graph.is(graph.items(top)[0], NodeKind::kDict);
}

Table read_plain_table(const PickleGraph& graph, NodeId top) {
  return graph.is(top, NodeKind::kDict) ? read_dict_of_lists(graph, top)
                                        : read_list_of_dicts(graph, top);
}

}  // namespace berth
