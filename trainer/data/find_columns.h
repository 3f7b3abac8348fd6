#pragma once

#include <optional>
#include <span>

#include "storage/formats/row_reader.h"
#include "trainer/data/text_table.h"

namespace berth {

// Indices into a table's columns.
struct FoundColumns {
  size_t text = 0;
  std::optional<size_t> text_pair, label;
};

// Throws kBadData, listing the table's columns, when a wanted one is not there or two would do;
// kUsage when two roles name the same one.
FoundColumns find_columns(std::span<const Column> columns, const ColumnChoice& choice,
                          LabelNeed need);

}  // namespace berth
