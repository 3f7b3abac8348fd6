#include "trainer/data/file_rows.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

ScoreScale scale_of(double first, double step, int count) {
  ScoreScale scale;
  for (int i = 0; i < count; ++i) scale.add(first + step * i);
  return scale;
}

TEST(ScoreScale, AScaleUpToOneIsBelowOneUpToFive) {
  const ScoreScale ones = scale_of(0, 0.05, 21), fives = scale_of(0, 0.25, 21);
  EXPECT_TRUE(ones.is_below(fives));
  EXPECT_FALSE(fives.is_below(ones));
  EXPECT_TRUE(scale_of(-1, 0.1, 21).is_below(scale_of(0, 5, 21)));  // cosines and percents
  EXPECT_FALSE(ones.is_below(ones));
  EXPECT_FALSE(fives.is_below(scale_of(0, 0.5, 21)));  // 0 to 10
  EXPECT_FALSE(scale_of(0, 0.25, 4).is_below(fives));  // few rows show nothing
}

TEST(ScoreScale, AFewLargeScoresAreNoOtherScale) {
  ScoreScale most_below = scale_of(0, 0.01, 100);
  most_below.add(50);
  EXPECT_FALSE(scale_of(0, 0.05, 21).is_below(most_below));
}

TEST(ScoreScale, AddsThoseOfOtherFiles) {
  ScoreScale both = scale_of(0, 0.05, 21);
  both.add(scale_of(0, 0.25, 21));
  EXPECT_EQ(both.largest(), 5);
  EXPECT_TRUE(scale_of(0, 0.05, 21).is_below(both));
}

TEST(FileRows, RowsOfTheFilesBeforeAreCounted) {
  FileRows rows;
  rows.expect_several();
  rows.begin_file();
  const auto add = [&](int first, int count, int label) {
    for (int i = first; i < first + count; ++i) {
      rows.add({.texts = {"text " + std::to_string(i)}, .labels = {label}}, /*has_score=*/false);
    }
  };
  add(0, 20, 1);
  add(0, 20, 1);
  EXPECT_FALSE(rows.are_repeated()) << "within one file";
  rows.begin_file();
  add(0, 10, 1);
  EXPECT_TRUE(rows.are_repeated());
  EXPECT_EQ(rows.repeated(), 10u);
  rows.begin_file();
  add(0, 20, 2);
  EXPECT_FALSE(rows.are_repeated()) << "other labels";
  rows.begin_file();
  add(15, 20, 1);
  EXPECT_FALSE(rows.are_repeated()) << "a quarter of the rows";
}

}  // namespace
}  // namespace berth
