#include "trainer/loop/load_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_log.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Names = std::vector<std::string>;

const Names kMnli = {"entailment", "neutral", "contradiction"};

TEST(KnownLabels, TakeTheModelsOrder) {
  EXPECT_EQ(in_order_of({"CONTRADICTION", "NEUTRAL", "ENTAILMENT"}, kMnli),
            (Names{"contradiction", "neutral", "entailment"}));
  EXPECT_EQ(in_order_of({"LABEL_0", "LABEL_1", "LABEL_2"}, kMnli), std::nullopt);
  EXPECT_EQ(in_order_of({"neutral", "entailment"}, kMnli), std::nullopt);
  EXPECT_EQ(in_order_of({"neutral", "neutral", "entailment"}, kMnli), std::nullopt);
  EXPECT_EQ(in_order_of({}, {}), Names());
}

TEST(KnownLabels, ReplaceOtherLabelsWithAWarning) {
  ModelConfig config;
  CapturedLog log;
  EXPECT_EQ(order_labels(config, kMnli), kMnli);
  config.labels = {"LABEL_0", "LABEL_1", "LABEL_2"};
  EXPECT_EQ(order_labels(config, kMnli), kMnli);
  config.labels = {"Neutral", "Contradiction", "Entailment"};
  EXPECT_THAT(order_labels(config, kMnli), ElementsAre("neutral", "contradiction", "entailment"));
  EXPECT_EQ(log.warnings(), "");
  config.labels = {"a", "b", "c"};
  EXPECT_EQ(order_labels(config, kMnli), kMnli);
  EXPECT_THAT(log.warnings(), HasSubstr("by position"));
}

}  // namespace
}  // namespace berth
