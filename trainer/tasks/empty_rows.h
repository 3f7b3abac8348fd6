#pragma once

#include <memory>

#include "trainer/data/dataset.h"
#include "trainer/tasks/predictions.h"

namespace berth {

// Whether a row of these inputs lacks a text, or a sentence all of its words: there is nothing to
// predict about it. A sentence may have empty words, which are words without a prediction.
bool is_empty_row(const Example& example, InputKind inputs);

// `lines`, in which an empty row has a line, too: its line has the id of the row, and all other
// fields are empty. Borrows the data set.
std::unique_ptr<PredictionLines> with_empty_rows(std::unique_ptr<PredictionLines> lines,
                                                 Dataset& data);

}  // namespace berth
