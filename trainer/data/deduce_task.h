#pragma once

#include <span>

#include "storage/formats/row_reader.h"
#include "trainer/data/find_columns.h"
#include "trainer/model/task.h"

namespace berth {

// The usual task of a table's labels. They are told by the names of the columns and by the first
// rows: answers to questions, tags of words, sets of classes (several in one cell, or a column for
// each), numbers where any has a fraction, else classes.
Task deduce_task(std::span<const Column> columns, std::span<const Row> rows,
                 const ColumnChoice& choice);

}  // namespace berth
