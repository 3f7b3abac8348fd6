#include "entrypoint/inspect/column_summary.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

std::string summary(const std::vector<Cell>& cells) {
  ColumnSummary column;
  for (const Cell& cell : cells) column.add(cell);
  return column.text();
}

TEST(ColumnSummary, CountsTheValuesThatRepeat) {
  EXPECT_EQ(summary({int64_t{1}, int64_t{0}, int64_t{1}}), "integers, 2 values: 1 (2), 0 (1)");
  EXPECT_EQ(summary({true, true}), "true or false, 1 value: true (2)");
}

TEST(ColumnSummary, ShowsTheLengthsOfTexts) {
  EXPECT_EQ(summary({"a", "abc", "\xC3\xA4\xC3\xB6"}), "texts, 1 to 3 characters, median 2");
}

TEST(ColumnSummary, ShowsHowManyAreMissing) {
  EXPECT_EQ(summary({Cell(), 0.5, 1.5}), "numbers, 1 missing");
  EXPECT_EQ(summary({Cell()}), "nothing, 1 missing");
  EXPECT_EQ(summary({}), "nothing");
}

TEST(ColumnSummary, StopsCountingManyValues) {
  ColumnSummary column;
  for (int64_t i = 0; i < 1000; ++i) column.add(i / 2);
  EXPECT_EQ(column.text(), "integers");
}

TEST(ColumnSummary, ArraysHaveElements) {
  ColumnSummary column;
  column.add_array(1);
  EXPECT_EQ(column.text(), "arrays, 1 element");
  column.add_array(128);
  column.add_array(128);
  EXPECT_EQ(column.text(), "arrays, 1 to 128 elements, median 128");
}

TEST(CutText, CountsCharactersNotBytes) {
  EXPECT_EQ(cut_text("\xC3\xA4\xC3\xB6\xC3\xBC", 2), "\xC3\xA4\xC3\xB6...");
  EXPECT_EQ(cut_text("abc", 3), "abc");
}

TEST(Grouped, SeparatesThousandsWithCommas) {
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
}

}  // namespace
}  // namespace berth
