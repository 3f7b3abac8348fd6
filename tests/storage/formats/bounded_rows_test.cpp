#include "storage/formats/bounded_rows.h"

#include <gtest/gtest.h>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

// A table of one column with the same text in each row.
class RepeatedText final : public RowReader {
 public:
  RepeatedText(uint64_t rows, size_t size) : left_(rows), text_(size, 'a') {}
  std::span<const Column> columns() const override { return columns_; }
  bool next(Row& row) override {
    if (left_ == 0) return false;
    --left_;
    row = {text_};
    return true;
  }
  std::string position() const override { return "here"; }

 private:
  uint64_t left_;
  const std::string text_;
  const std::vector<Column> columns_ = {{.name = "text", .categories = {}}};
};

// How many rows of so much text a file of `file_bytes` may have, of a million.
uint64_t rows_of(size_t text, uint64_t file_bytes) {
  const auto rows = with_bounded_text(std::make_unique<RepeatedText>(1'000'000, text), file_bytes);
  Row row;
  uint64_t count = 0;
  try {
    while (rows->next(row)) ++count;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBadData);
    EXPECT_EQ(error.where(), "here");
  }
  return count;
}

TEST(BoundedRows, EndWhereAFileRepeatsItsText) {
  EXPECT_EQ(rows_of(1 << 20, 1 << 20), 128);
  EXPECT_EQ(rows_of(1 << 20, 10 << 20), 1281);
  EXPECT_EQ(rows_of(2048, 0), 0);
}

TEST(BoundedRows, MayHaveNamesOfCategoriesInAnyNumber) {
  EXPECT_EQ(rows_of(1024, 0), 1'000'000);
  EXPECT_EQ(rows_of(8, 100), 1'000'000);
}

}  // namespace
}  // namespace berth
