#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "trainer/data/find_columns.h"

namespace berth {

// `text "sentence1" and "sentence2", labels "label"`: the columns and their roles. Empty if the
// rows have no columns.
std::string describe_columns(const ColumnChoice& columns);

// How many of `rows` belong to each class. `strata` has the stratum of every row, and `classes` the
// class of every stratum (RowKeys, LabelDictionary).
std::vector<int64_t> rows_of_classes(const std::vector<uint32_t>& rows,
                                     const std::deque<int32_t>& strata,
                                     const std::vector<int32_t>& classes, size_t num_classes);

// "sport 450, food 449, ...": the classes in their order. Of more than ten, it names the seven
// largest and says how small the others are.
std::string describe_classes(const std::vector<std::string>& labels,
                             const std::vector<int64_t>& counts);

}  // namespace berth
