#pragma once

#include <memory>

#include "trainer/tasks/predictions.h"

namespace berth {

// Spreadsheets compute a cell that begins with = + - or @, or with a tab or a line end before them.
// Puts an apostrophe before each such field, which spreadsheets take for the mark of a text.
// Numbers stay as they are.
std::unique_ptr<PredictionLines> with_spreadsheet_cells(std::unique_ptr<PredictionLines> lines);

}  // namespace berth
