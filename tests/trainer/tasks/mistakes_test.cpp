#include <gtest/gtest.h>

#include "tests/support/letter_data.h"
#include "trainer/tasks/evaluator.h"

namespace berth {
namespace {

TEST(WorstMistakes, KeepsTheWorstAndOfEqualOnesTheFirst) {
  const LetterTokenizer tokenizer;
  const std::vector<std::string> texts(1000, "a");
  const TableData data(table_of(texts, std::vector<int32_t>(1000, 0)), tokenizer, 8);
  WorstMistakes worst;
  for (int64_t i = 0; i < 1000; ++i) {
    worst.add(i == 700 ? 0.9 : i == 800 ? 0.0 / 0.0 : 0.5, i, "a", "b");
  }
  const std::vector<Mistake> kept = worst.with_texts(*data.dataset);
  ASSERT_EQ(kept.size(), WorstMistakes::kMost);
  EXPECT_EQ(kept[0].id, "700");
  EXPECT_EQ(kept[1].id, "0");
  EXPECT_EQ(kept.back().id, std::to_string(WorstMistakes::kMost - 2));
}

TEST(WorstMistakes, CutsTextsBetweenCharacters) {
  const LetterTokenizer tokenizer;
  std::string text(WorstMistakes::kTextBytes - 1, 'a');
  const TableData data(table_of({text + "äb"}, {0}), tokenizer, 8);
  WorstMistakes worst;
  worst.add(1, 0, std::string(1 << 20, 'x'), "");
  const Mistake kept = worst.with_texts(*data.dataset).at(0);
  EXPECT_EQ(kept.texts.at(0), text + "…");
  EXPECT_LT(kept.truth.size(), WorstMistakes::kTextBytes + 4);
}

TEST(NumberSample, IsEvenlySpacedAndBounded) {
  NumberSample sample;
  for (int i = 0; i < 10'000; ++i) {
    sample.add({.truth = static_cast<float>(i % 2), .prediction = static_cast<float>(i)});
  }
  const std::vector<NumberPair>& pairs = sample.pairs();
  EXPECT_LE(pairs.size(), NumberSample::kMost);
  EXPECT_GE(pairs.size(), NumberSample::kMost / 2);
  for (size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(pairs[i].prediction, static_cast<float>(i) * pairs[1].prediction);
  }
  EXPECT_DOUBLE_EQ(sample.variance().value(), 0.25);
  EXPECT_FALSE(NumberSample().variance());
}

}  // namespace
}  // namespace berth
