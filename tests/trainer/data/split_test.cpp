#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "trainer/data/example_table.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// `per_class` texts of each of `classes` classes.
struct Texts {
  Texts(int per_class, int classes) {
    for (int i = 0; i < per_class * classes; ++i) {
      texts.push_back("text number " + std::to_string(i));
      labels.push_back(i % classes);
    }
  }
  std::set<std::string> at(const std::vector<uint32_t>& rows) const {
    std::set<std::string> result;
    for (const uint32_t row : rows) result.insert(texts[row]);
    return result;
  }
  std::map<int32_t, int> count(const std::vector<uint32_t>& rows) const {
    std::map<int32_t, int> counts;
    for (const uint32_t row : rows) ++counts[labels[row]];
    return counts;
  }

  RowKeys keys() const {
    RowKeys keys;
    for (const std::string& text : texts) keys.hashes.push_back(text_hash(text));
    keys.strata.assign(labels.begin(), labels.end());
    return keys;
  }

  std::vector<std::string> texts;
  std::vector<int32_t> labels;
};

TEST(StratifiedSplit, EveryRowIsOnOneSide) {
  const Texts data(50, 3);
  const Split split = stratified_split(data.keys(), 0.1);
  std::vector<uint32_t> all = split.train;
  all.insert(all.end(), split.held_out.begin(), split.held_out.end());
  std::sort(all.begin(), all.end());
  ASSERT_THAT(all, SizeIs(150));
  for (uint32_t row = 0; row < 150; ++row) EXPECT_EQ(all[row], row);
  EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
  EXPECT_TRUE(std::is_sorted(split.held_out.begin(), split.held_out.end()));
}

TEST(StratifiedSplit, EmptyTextsAreNotHeldOutBeforeAllOthers) {
  ExampleTable table;
  for (int i = 0; i < 40; ++i) {
    const std::string text = i % 4 == 0 ? "" : "text number " + std::to_string(i);
    table.append({.texts = {text}});
    table.add_key({}, text, Task::kRegression);
  }
  const RowKeys keys = table.take_keys();
  EXPECT_THAT(keys.blank, SizeIs(10));
  for (const uint32_t row : stratified_split(keys, 0.1).held_out) EXPECT_NE(row % 4, 0u);
  // As a job of an earlier version goes on.
  for (const uint32_t row : stratified_split(as_before_blank_rule(keys), 0.1).held_out) {
    EXPECT_EQ(row % 4, 0u);
  }
}

TEST(StratifiedSplit, RowsThatAreLeftOutAreOnNeitherSide) {
  const Texts data(10, 1);
  const std::vector<uint32_t> left_out = {2, 3, 9};
  const Split split = stratified_split(data.keys(), 0.3, left_out);
  EXPECT_THAT(split.held_out, SizeIs(2));
  std::vector<uint32_t> all = split.train;
  all.insert(all.end(), split.held_out.begin(), split.held_out.end());
  EXPECT_THAT(all, testing::UnorderedElementsAre(0, 1, 4, 5, 6, 7, 8));
}

TEST(StratifiedSplit, EqualTextsStayTogether) {
  for (int copies = 2; copies < 8; ++copies) {
    RowKeys keys;
    std::vector<std::string> texts;
    for (int i = 0; i < 60; ++i) {
      texts.push_back("text " + std::to_string(i / copies));
      keys.hashes.push_back(text_hash(texts.back()));
      keys.strata.push_back(0);
    }
    const Split split = stratified_split(keys, 0.1);
    std::set<std::string> trained;
    for (const uint32_t row : split.train) trained.insert(texts[row]);
    ASSERT_FALSE(split.train.empty());
    ASSERT_FALSE(split.held_out.empty());
    EXPECT_LE(split.held_out.size(), 6u + static_cast<size_t>(copies));
    for (const uint32_t row : split.held_out) EXPECT_FALSE(trained.contains(texts[row])) << row;
  }
  // A class whose rows all have the same text is on both sides nevertheless.
  const Split split = stratified_split({.hashes = {5, 5, 5}, .strata = {0, 0, 0}}, 0.1);
  EXPECT_THAT(split.held_out, ElementsAre(0));
}

TEST(StratifiedSplit, NeverSplitsTheRowsOfOneText) {
  const Split split = stratified_split({.hashes = {1, 9, 9, 9}, .strata = {0, 0, 0, 0}}, 0.5);
  EXPECT_THAT(split.held_out, ElementsAre(0));
}

TEST(StratifiedSplit, HoldsOutTheSameShareOfEveryClass) {
  const Texts data(40, 3);
  const Split split = stratified_split(data.keys(), 0.25);
  EXPECT_EQ(data.count(split.held_out), (std::map<int32_t, int>{{0, 10}, {1, 10}, {2, 10}}));
}

TEST(StratifiedSplit, SmallClassesAreOnBothSides) {
  const Texts data(2, 5);
  for (const double fraction : {0.01, 0.5, 0.99}) {
    const Split split = stratified_split(data.keys(), fraction);
    EXPECT_THAT(data.count(split.held_out), SizeIs(5)) << fraction;
    EXPECT_THAT(data.count(split.train), SizeIs(5)) << fraction;
  }
}

TEST(StratifiedSplit, AClassOfOneRowIsTrainedOn) {
  const Texts data(1, 2);
  const Split split = stratified_split(data.keys(), 0.1);
  EXPECT_THAT(split.train, ElementsAre(0, 1));
  EXPECT_THAT(split.held_out, IsEmpty());
}

TEST(StratifiedSplit, FractionZeroHoldsOutNothing) {
  const Texts data(10, 2);
  EXPECT_THAT(stratified_split(data.keys(), 0).held_out, IsEmpty());
}

TEST(StratifiedSplit, TheSameTextsAreHeldOutWhateverTheOrder) {
  Texts data(30, 3);
  const auto before = data.at(stratified_split(data.keys(), 0.2).held_out);
  std::reverse(data.texts.begin(), data.texts.end());
  std::reverse(data.labels.begin(), data.labels.end());
  EXPECT_EQ(data.at(stratified_split(data.keys(), 0.2).held_out), before);
  std::rotate(data.texts.begin(), data.texts.begin() + 17, data.texts.end());
  std::rotate(data.labels.begin(), data.labels.begin() + 17, data.labels.end());
  EXPECT_EQ(data.at(stratified_split(data.keys(), 0.2).held_out), before);
}

TEST(StratifiedSplit, HoldsOutRowsFromAllOverTheFile) {
  const Texts data(1000, 1);
  const Split split = stratified_split(data.keys(), 0.5);
  int front = 0;
  for (const uint32_t row : split.held_out) front += row < 500 ? 1 : 0;
  EXPECT_NEAR(front, 250, 60);
}

TEST(StratifiedFraction, KeepsAShareOfEveryClassAndAtLeastOne) {
  const Texts data(40, 3);
  const Split all = stratified_split(data.keys(), 0);
  const auto kept = stratified_fraction(all.train, data.keys().strata, 0.25, 1);
  EXPECT_EQ(data.count(kept), (std::map<int32_t, int>{{0, 10}, {1, 10}, {2, 10}}));
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()));
  const auto least = stratified_fraction(all.train, data.keys().strata, 0.001, 1);
  EXPECT_EQ(data.count(least), (std::map<int32_t, int>{{0, 1}, {1, 1}, {2, 1}}));
}

TEST(StratifiedFraction, ChoosesAmongTheGivenRowsBySeed) {
  const Texts data(40, 2);
  const std::vector<uint32_t> rows = {3, 5, 8, 13, 21, 34, 55, 60, 70, 72};
  const auto kept = stratified_fraction(rows, data.keys().strata, 0.5, 1);
  EXPECT_TRUE(std::includes(rows.begin(), rows.end(), kept.begin(), kept.end()));
  EXPECT_EQ(stratified_fraction(rows, data.keys().strata, 0.5, 1), kept);
  EXPECT_NE(stratified_fraction(rows, data.keys().strata, 0.5, 2), kept);
}

TEST(StratifiedFraction, OneKeepsAll) {
  const Texts data(10, 2);
  const std::vector<uint32_t> rows = {1, 2, 5, 6};
  EXPECT_EQ(stratified_fraction(rows, data.keys().strata, 1, 3), rows);
}

TEST(ChosenRows, AreSomeOfTheGivenOnesBySeed) {
  const std::vector<uint32_t> rows = {3, 5, 8, 13, 21, 34, 55};
  const auto kept = chosen_rows(rows, 4, 1);
  EXPECT_THAT(kept, SizeIs(4));
  EXPECT_TRUE(std::includes(rows.begin(), rows.end(), kept.begin(), kept.end()));
  EXPECT_NE(chosen_rows(rows, 4, 2), kept);
  EXPECT_EQ(chosen_rows(rows, 7, 1), rows);
  EXPECT_EQ(chosen_rows(rows, 100, 1), rows);
}

}  // namespace
}  // namespace berth
