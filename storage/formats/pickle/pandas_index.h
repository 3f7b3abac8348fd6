#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/formats/pickle/cell_source.h"
#include "storage/formats/pickle/pickle_graph.h"

namespace berth {

// A pandas Index, _new_Index(class, {"data", "name"}) or, of a RangeIndex, {"start", "stop",
// "step"}: the cells of its labels, at most claim_limit() many. Throws kBadData, naming what it is,
// on an index of neither text nor numbers.
std::unique_ptr<CellSource> read_index(const PickleGraph& graph, NodeId id, MemoryBudget& budget);

// Whether `id` is a Categorical array, of any version.
bool is_categorical(const PickleGraph& graph, NodeId id);

// The cells of a Categorical, by its codes; its categories, in their order, into `categories`.
// Throws kCorrupt when a code is neither -1 (missing) nor that of a category, on reading it.
std::unique_ptr<CellSource> read_categorical(const PickleGraph& graph, NodeId id,
                                             MemoryBudget& budget,
                                             std::vector<std::string>& categories);

// The labels of an index (a CategoricalIndex too) as names: of columns.
std::vector<std::string> read_names(const PickleGraph& graph, NodeId id, MemoryBudget& budget);

}  // namespace berth
