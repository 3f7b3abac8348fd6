#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// Returns the labels of a pandas Index as cells; there are at most claim_limit() of them. The index
// is _new_Index(class, {"data", "name"}), or for a RangeIndex {"start", "stop", "step"}. Throws
// kBadData, naming the kind of index, if its labels are neither text nor numbers.
std::unique_ptr<CellSource> read_index(const PickleGraph& graph, NodeId id, MemoryBudget& budget);

// A level of the index of a table's rows, which pandas writes as a column in other formats.
struct IndexLevel {
  std::string name;
  std::unique_ptr<CellSource> cells;
};

// Returns the levels that have names, of an Index or a MultiIndex. Leaves out levels that are
// neither text nor numbers, and an index of another kind.
std::vector<IndexLevel> read_levels(const PickleGraph& graph, NodeId id, MemoryBudget& budget);

// Whether `id` is a Categorical array, of any version of pandas.
bool is_categorical(const PickleGraph& graph, NodeId id);

// Returns the cells of a Categorical, and its categories, in their order, in `categories`. Reading
// a cell throws kCorrupt if its code is neither -1 (missing) nor the code of a category.
std::unique_ptr<CellSource> read_categorical(const PickleGraph& graph, NodeId id,
                                             MemoryBudget& budget,
                                             std::vector<std::string>& categories);

// Returns the labels of an index (or CategoricalIndex) as column names.
std::vector<std::string> read_names(const PickleGraph& graph, NodeId id, MemoryBudget& budget);

}  // namespace berth
