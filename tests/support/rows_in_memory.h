#pragma once

#include <algorithm>
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
    for (size_t i = 0; !selected_.empty() && i < row.size(); ++i) {
      if (std::ranges::find(selected_, i) == selected_.end()) row[i] = {};
    }
    return true;
  }
  // As in Parquet, the other columns are missing from then on.
  void select(std::span<const size_t> columns) override {
    selected_.assign(columns.begin(), columns.end());
  }
  bool is_of_texts() const override { return !has_types_; }
  std::string position() const override { return "row " + std::to_string(next_ - 1); }

 private:
  std::vector<Column> columns_;
  std::vector<Row> rows_;
  bool has_types_;
  std::vector<size_t> selected_;  // empty: all
  size_t next_ = 0;
};

}  // namespace berth
