#pragma once

#include <memory>
#include <vector>

#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/pickle_graph.h"
#include "storage/formats/row_reader.h"

// The tables that a pickle may hold. Thread-safe, as long as nobody changes the graph. Throws
// kBadData or kCorrupt where the nodes are no such table.
namespace berth {

// A table stored by columns. Each element of `values` has `rows` cells. Borrows the graph that it
// was read from.
struct Table {
  std::vector<Column> columns;
  std::vector<std::unique_ptr<CellSource>> values;
  uint64_t rows = 0;
};

// Handle a pandas DataFrame or Series (data_frame.cpp).
bool is_data_frame(const PickleGraph& graph, NodeId top);
Table read_data_frame(const PickleGraph& graph, NodeId top);

// Handle a list of dicts, or a dict of lists of equal length (table.cpp).
bool is_plain_table(const PickleGraph& graph, NodeId top);
Table read_plain_table(const PickleGraph& graph, NodeId top);

}  // namespace berth
