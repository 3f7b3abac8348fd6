#include "trainer/data/total_row.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

// What is found after a row for each of the labels, which are numbers, and one for the last row.
std::vector<Finding> found(const std::vector<double>& numbers, std::string_view text,
                           std::string_view label, std::optional<double> number) {
  TotalRow rows;
  for (const double each : numbers) rows.add("a text", std::to_string(each), each);
  rows.add(text, label, number);
  return rows.findings("line 9");
}

TEST(TotalRow, IsFoundByItsName) {
  const std::vector<double> marks = {0, 1, 0, 1, 1, 0};
  for (const char* name :
       {"Total", "TOTAL:", " Summe ", "Gesamtergebnis", "Total général", "Итого", "合計"}) {
    EXPECT_EQ(found(marks, name, "7", 7).size(), 1u) << name;
    EXPECT_EQ(found(marks, "x", name, {}).size(), 1u) << name;
  }
  EXPECT_NE(found(marks, "Total", "7", 7)[0].text.find("line 9"), std::string::npos);
  EXPECT_TRUE(found(marks, "Total loss", "1", 1).empty());
  EXPECT_TRUE(found({0, 1}, "Total", "1", 1).empty()) << "few rows";
}

TEST(TotalRow, IsFoundByTheSumOfTheLabels) {
  EXPECT_EQ(found({1, 2, 3, 1, 2, 3}, "all", "12", 12).size(), 1u);
  EXPECT_EQ(found({0.5, 1.25, 2, 0.25, 1, 1}, "-", "6", 6).size(), 1u);
  EXPECT_TRUE(found({0, 0, 1, 0, 0, 0}, "a text", "1", 1).empty()) << "a class";
  EXPECT_TRUE(found({1, 2, 3, 1, 2, 3}, "a text", "11", 11).empty());
  EXPECT_TRUE(found({0, 0, 0, 0, 0, 0}, "a text", "0", 0).empty());
}

}  // namespace
}  // namespace berth
