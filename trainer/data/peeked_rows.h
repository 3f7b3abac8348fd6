#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/formats/row_reader.h"

namespace berth {

// Rows whose first thousand can be looked at before they are read.
class PeekedRows final : public RowReader {
 public:
  explicit PeekedRows(std::unique_ptr<RowReader> rows) : rows_(std::move(rows)) {
    constexpr size_t kRows = 1000;
    // The error of a malformed row is thrown later, when next() reaches it.
    try {
      for (Row row; peeked_.size() < kRows && rows_->next(row);) {
        peeked_.push_back(std::move(row));
        positions_.push_back(rows_->position());
      }
    } catch (const Error& error) {
      failure_ = error;
    }
  }

  std::span<const Column> columns() const override { return rows_->columns(); }
  std::span<const Row> peeked() const { return peeked_; }
  void select(std::span<const size_t> columns) override { rows_->select(columns); }

  bool next(Row& row) override {
    if (next_ < peeked_.size()) {
      position_ = positions_[next_];
      row = std::move(peeked_[next_++]);
      return true;
    }
    position_.reset();
    if (failure_) {
      const Error failure = *failure_;
      failure_.reset();
      throw failure;
    }
    return rows_->next(row);
  }

  std::string position() const override { return position_.value_or(rows_->position()); }
  bool is_of_texts() const override { return rows_->is_of_texts(); }
  std::vector<Finding> findings() const override { return rows_->findings(); }

 private:
  const std::unique_ptr<RowReader> rows_;
  std::vector<Row> peeked_;
  std::vector<std::string> positions_;
  size_t next_ = 0;
  std::optional<std::string> position_;
  std::optional<Error> failure_;
};

}  // namespace berth
