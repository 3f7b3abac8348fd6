#pragma once

#include <span>

#include "storage/formats/row_reader.h"
#include "trainer/data/find_columns.h"
#include "trainer/data/label_form.h"
#include "trainer/model/task.h"

namespace berth {

// A table whose first rows were looked at.
struct PeekedTable {
  std::span<const Column> columns;
  std::span<const Row> rows;
  bool are_texts = false;  // RowReader::is_of_texts()
};

// The usual task for the labels of a table. Their kind is inferred from the names of the columns
// and from the first rows: answers to questions, tags of words, sets of classes (several in one
// cell, or a column for each), numbers if any has a fraction, and otherwise classes. A score of two
// texts is always a number. `form` is what the user says of labels.
Task deduce_task(const PeekedTable& table, const ColumnChoice& choice, const LabelForm& form = {});

}  // namespace berth
