#pragma once

#include <string>
#include <utility>
#include <vector>

#include "storage/formats/row_reader.h"

namespace berth {

// A RowReader over rows that a test provides. The position of the first row is "row 0". As in a CSV
// file, texts may be numbers, unless the format has types.
class RowsInMemory final : public RowReader {
 public:
  RowsInMemory(std::vector<Column> columns, std::vector<Row> rows, bool has_types = false)
      : columns_(std::move(columns)), rows_(std::move(rows)), has_types_(has_types) {}

  std::span<const Column> columns() const override { return columns_; }
  bool next(Row& row) override {
    if (next_ == rows_.size()) return false;
    row = rows_[next_++];
    return true;
  }
  bool is_of_texts() const override { return !has_types_; }
  std::string position() const override { return "row " + std::to_string(next_ - 1); }

 private:
  std::vector<Column> columns_;
  std::vector<Row> rows_;
  bool has_types_;
  size_t next_ = 0;
};

}  // namespace berth
