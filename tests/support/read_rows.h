#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/formats/row_reader.h"

namespace berth {

// A source over `text`, which must outlive it.
inline std::unique_ptr<ByteSource> source_of(std::string_view text) {
  return std::make_unique<MemorySource>(as_bytes(text));
}

inline std::vector<Row> read_rows(RowReader& reader) {
  std::vector<Row> rows;
  Row row;
  while (reader.next(row)) rows.push_back(row);
  return rows;
}

inline std::vector<std::string> column_names(const RowReader& reader) {
  std::vector<std::string> names;
  for (const Column& column : reader.columns()) names.push_back(column.name);
  return names;
}

// Cells: a missing one, and one with text.
inline const Cell kMissing;
inline Cell text(std::string_view value) { return Cell(std::in_place_type<std::string>, value); }

}  // namespace berth
