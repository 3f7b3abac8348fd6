#include <gtest/gtest.h>

#include "entrypoint/job/labelled_data.h"

namespace berth {
namespace {

TEST(DescribeRows, NamesTheColumns) {
  EXPECT_EQ(describe_columns({.text = "text", .label = "label"}), R"(text "text", labels "label")");
  EXPECT_EQ(describe_columns({.text = "a", .text_pair = "b"}), R"(text "a" and "b")");
  EXPECT_EQ(describe_columns({}), "");
}

TEST(DescribeRows, CountsTheRowsOfAClass) {
  // Two strata, 0 and 2, are the same class under two spellings.
  EXPECT_EQ(rows_of_classes({0, 1, 3}, {0, 1, 1, 2}, {1, 0, 1}, 2), (std::vector<int64_t>{1, 2}));
}

TEST(DescribeRows, NamesEveryClassOfAFew) {
  EXPECT_EQ(describe_classes({"no", "yes"}, {3, 0}), R"("no" 3, "yes" 0)");
}

TEST(DescribeRows, NamesTheLargestOfManyClasses) {
  std::vector<std::string> labels;
  std::vector<int64_t> counts;
  for (int i = 0; i < 11; ++i) {
    labels.push_back(std::to_string(i));
    counts.push_back(i);
  }
  EXPECT_EQ(describe_classes(labels, counts),
            R"("10" 10, "9" 9, "8" 8, "7" 7, "6" 6, "5" 5, "4" 4, and 4 others with 0 to 3)");
  EXPECT_TRUE(describe_classes(labels, std::vector<int64_t>(11, 2)).ends_with("4 others with 2"));
}

}  // namespace
}  // namespace berth
