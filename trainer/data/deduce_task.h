#pragma once

#include "trainer/data/find_columns.h"
#include "trainer/data/label_form.h"
#include "trainer/model/task.h"

namespace berth {

// The usual task for the labels of a table. Their kind is inferred from the names of the columns
// and from the first rows: answers to questions, tags of words, or sets of classes (several in one
// cell, or several columns that the user named). Labels are numbers if most cells are numbers, and
// one has a fraction or may have one. Otherwise they are classes. If there are two texts and the
// column has a score's name, which the user did not give, whole numbers count as scores, too.
// `form` is what the user says of labels.
Task deduce_task(const PeekedTable& table, const ColumnChoice& choice, const LabelForm& form = {});

}  // namespace berth
