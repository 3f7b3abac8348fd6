#include "trainer/loop/mine_negatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Passages 0 to 9 with the scores 0.9, 0.85, 0.8, ..., of which passage 2 is the positive one.
struct Query {
  Query() {
    for (uint32_t i = 0; i < 10; ++i) found.push_back({i, 0.9 - 0.05 * i});
  }
  std::vector<uint32_t> choose(const MiningRules& rules, uint32_t query = 0) {
    std::vector<uint32_t> documents;
    for (const ScoredPassage& passage :
         choose_negatives(found, positives, 0.8, rules, query, refused)) {
      documents.push_back(passage.document);
    }
    return documents;
  }

  std::vector<ScoredPassage> found;
  std::vector<uint32_t> positives = {2};
  MiningCounts refused;
};

TEST(ChooseNegatives, TakesTheNearestPassagesButNoPositives) {
  EXPECT_THAT(Query().choose({.negatives = 3, .last = 10}), ElementsAre(0, 1, 3));
  Query two;
  two.positives = {0, 3};
  EXPECT_THAT(two.choose({.negatives = 3, .last = 10}), ElementsAre(1, 2, 4));
}

TEST(ChooseNegatives, TheRangeCountsWhatIsLeft) {
  EXPECT_THAT(Query().choose({.negatives = 2, .skipped = 2, .last = 4}), ElementsAre(3, 4));
  // Five passages are left below the margin: 5 to 9.
  EXPECT_THAT(Query().choose({.negatives = 2, .skipped = 1, .last = 4, .margin = 0.125}),
              ElementsAre(6, 7));
}

TEST(ChooseNegatives, RulesRefuseByScores) {
  Query query;
  EXPECT_THAT(query.choose({.negatives = 1, .last = 10, .margin = 0.125}), ElementsAre(5));
  EXPECT_EQ(query.refused.margin, 4);
  EXPECT_THAT(query.choose({.negatives = 1, .last = 10, .relative_margin = 0.3}), ElementsAre(7));
  EXPECT_EQ(query.refused.relative_margin, 6);
  EXPECT_THAT(query.choose({.negatives = 1, .last = 10, .max_score = 0.72}), ElementsAre(4));
  EXPECT_EQ(query.refused.max_score, 3);
  EXPECT_THAT(query.choose({.negatives = 9, .last = 10, .min_score = 0.62}), IsEmpty());
  EXPECT_EQ(query.refused.min_score, 4);
}

TEST(ChooseNegatives, AQueryWithTooFewPassagesHasNone) {
  EXPECT_THAT(Query().choose({.negatives = 10, .last = 20}), IsEmpty());
  EXPECT_EQ(Query().choose({.negatives = 9, .last = 20}).size(), 9u);
  EXPECT_THAT(Query().choose({.negatives = 1, .skipped = 9, .last = 20}), IsEmpty());
}

TEST(ChooseNegatives, RescoredPassagesAreSortedAnew) {
  Query query;
  std::ranges::reverse(query.found);
  EXPECT_THAT(query.choose({.negatives = 3, .last = 10}), ElementsAre(0, 1, 3));
}

TEST(ChooseNegatives, SamplesDependOnTheSeedAndTheQuery) {
  Query query;
  const MiningRules rules{.negatives = 3, .last = 8, .samples = true, .seed = 1};
  const std::vector<uint32_t> first = query.choose(rules);
  EXPECT_EQ(first.size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(first));
  EXPECT_EQ(query.choose(rules), first);
  bool differs = false;
  for (uint32_t other = 1; other < 20; ++other) differs |= query.choose(rules, other) != first;
  EXPECT_TRUE(differs);
}

TEST(MiningRulesTest, TheUsualRangeIsThatOfSentenceTransformers) {
  EXPECT_EQ((MiningRules{.negatives = 3, .skipped = 5}.usual_last(2, false)), 10);
  EXPECT_EQ((MiningRules{.negatives = 3, .max_score = 0.9}.usual_last(1, false)), 31);
  EXPECT_EQ((MiningRules{.negatives = 3, .min_score = 0.1}.usual_last(1, false)), 4);
  EXPECT_EQ((MiningRules{.negatives = 3, .min_score = 0.1}.usual_last(1, true)), 31);
}

}  // namespace
}  // namespace berth
