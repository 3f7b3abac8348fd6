#include "storage/formats/bounded_rows.h"

#include <utility>

#include "storage/base/error.h"

namespace berth {
namespace {

constexpr uint64_t kTextFactor = 128, kTextOfRow = 1024;

class BoundedRows final : public RowReader {
 public:
  BoundedRows(std::unique_ptr<RowReader> rows, uint64_t file_bytes)
      : rows_(std::move(rows)), left_(kTextFactor * file_bytes) {}

  std::span<const Column> columns() const override { return rows_->columns(); }
  void select(std::span<const size_t> columns) override { rows_->select(columns); }
  std::string position() const override { return rows_->position(); }
  bool is_of_texts() const override { return rows_->is_of_texts(); }
  std::optional<uint64_t> rows_left() const override { return rows_->rows_left(); }

  bool next(Row& row) override {
    if (!rows_->next(row)) return false;
    left_ += kTextOfRow;
    for (const Cell& cell : row) {
      const auto* text = std::get_if<std::string>(&cell);
      if (text == nullptr) continue;
      if (text->size() > left_) {
        throw Error(Code::kBadData, "repeats its text to many times the file's size", position());
      }
      left_ -= text->size();
    }
    return true;
  }

 private:
  const std::unique_ptr<RowReader> rows_;
  uint64_t left_;  // bytes of text that the rows may still have
};

}  // namespace

std::unique_ptr<RowReader> with_bounded_text(std::unique_ptr<RowReader> rows, uint64_t file_bytes) {
  return std::make_unique<BoundedRows>(std::move(rows), file_bytes);
}

}  // namespace berth
