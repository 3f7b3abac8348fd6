#pragma once

#include <memory>

#include "trainer/data/dataset.h"
#include "trainer/tasks/predictions.h"

namespace berth {

// Adds to each of `lines` its texts, as further columns: the text, with the second one of a pair,
// the question with its context, or the word (one_field()). Borrows the data set. Throws kUsage
// where the rows hold token ids and no texts.
std::unique_ptr<PredictionLines> with_text_columns(std::unique_ptr<PredictionLines> lines,
                                                   Dataset& data);

}  // namespace berth
