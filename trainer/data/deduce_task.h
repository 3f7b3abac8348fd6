#pragma once

#include <span>

#include "storage/formats/row_reader.h"
#include "trainer/data/find_columns.h"
#include "trainer/model/task.h"

namespace berth {

// What a table is made for, told by its columns' names and first rows: questions with answers,
// words with tags, several labels in one cell or in as many columns, numbers with fractions, else
// classes.
Task deduce_task(std::span<const Column> columns, std::span<const Row> rows,
                 const ColumnChoice& choice);

}  // namespace berth
