#include "trainer/metrics/entities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trainer/metrics/recorded_cases.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Tags = std::vector<std::string>;

TEST(Entities, AreReadFromEveryScheme) {
  const std::vector<Entity> expected = {{"PER", 0, 1}, {"LOC", 2, 2}, {"LOC", 3, 3}};
  EXPECT_EQ(entities_of(Tags{"B-PER", "I-PER", "B-LOC", "B-LOC", "O"}), expected);  // IOB2
  EXPECT_EQ(entities_of(Tags{"I-PER", "I-PER", "I-LOC", "B-LOC", "O"}), expected);  // IOB1
  EXPECT_EQ(entities_of(Tags{"B-PER", "E-PER", "S-LOC", "S-LOC", "O"}), expected);  // BIOES
}

TEST(Entities, WithoutPrefixesAreRunsOfATag) {
  EXPECT_THAT(entities_of(Tags{"ORG", "ORG", "O", "ORG", "EVENT"}),
              ElementsAre(Entity{"ORG", 0, 1}, Entity{"ORG", 3, 3}, Entity{"EVENT", 4, 4}));
}

TEST(Entities, AreNotInEmptyOrOutsideTags) {
  EXPECT_THAT(entities_of(Tags{}), IsEmpty());
  EXPECT_THAT(entities_of(Tags{"O", ".", "", "O"}), IsEmpty());
}

TEST(EntityMetrics, AgreeWithSeqeval) {
  for (const Json& recorded : recorded_cases("entities")) {
    const auto truths = recorded["truths"].get<std::vector<Tags>>();
    const auto predictions = recorded["predictions"].get<std::vector<Tags>>();
    EntityMetrics counted;
    for (size_t i = 0; i < truths.size(); ++i) counted.add(truths[i], predictions[i]);
    EXPECT_EQ(counted.metrics().size(), 4u);
    for (const auto& [key, value] : counted.metrics()) {
      EXPECT_NEAR(value, recorded[key].get<double>(), 1e-12) << key << recorded["truths"];
    }
    for (const auto& [type, row] : recorded["types"].items()) {
      ASSERT_EQ(counted.types().count(type), 1u) << type;
      const ClassCounts& counts = counted.types().at(type);
      EXPECT_NEAR(counts.precision(), row["precision"].get<double>(), 1e-12) << type;
      EXPECT_NEAR(counts.recall(), row["recall"].get<double>(), 1e-12) << type;
      EXPECT_NEAR(counts.f1(), row["f1-score"].get<double>(), 1e-12) << type;
      EXPECT_EQ(static_cast<double>(counts.support), row["support"].get<double>()) << type;
    }
  }
}

TEST(EntityMetrics, HalfAnEntityDoesNotCount) {
  EntityMetrics counted;
  counted.add(Tags{"B-PER", "I-PER", "O"}, Tags{"B-PER", "O", "O"});
  EXPECT_EQ(counted.metrics().at("entity_f1"), 0);
  EXPECT_DOUBLE_EQ(counted.metrics().at("accuracy"), 2.0 / 3);
}

TEST(EntityMetrics, NoSentencesAreNoError) {
  for (const auto& [key, value] : EntityMetrics().metrics()) EXPECT_EQ(value, 0) << key;
}

}  // namespace
}  // namespace berth
