#include "entrypoint/report/class_events.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "storage/formats/event_reader.h"
#include "storage/formats/plugin_events.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

std::vector<std::string> tags(const TaskScores& scores) {
  std::vector<std::string> tags;
  for (const auto& record : class_events(1.7e9, 3, scores)) {
    const Event event = parse_event(Bytes(record).subspan(12, record.size() - 16));
    EXPECT_EQ(event.step, 3);
    tags.push_back(event.values.at(0).tag);
  }
  return tags;
}

TEST(ClassEvents, AreACurveOfEachClassAndTheConfusionMatrix) {
  TaskScores scores;
  scores.classes = {{.name = "spam"}, {.name = "a\x1b[31m\xff"}, {.name = std::string(100, 'x')}};
  scores.details.thresholds.resize(3);
  scores.confusion = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  EXPECT_THAT(tags(scores), testing::ElementsAre("pr_curves/spam", "pr_curves/a\\x1b[31m\\xff",
                                                 "pr_curves/" + std::string(60, 'x') + "... 2",
                                                 "confusion_matrix"));
  scores.confusion.clear();
  EXPECT_EQ(tags(scores).size(), 3u);
  EXPECT_TRUE(tags(TaskScores()).empty());
}

TEST(ClassEvents, CurvesHaveTheRowsOfTensorBoard) {
  TaskScores scores;
  scores.classes = {{.name = "spam"}};
  ThresholdCounts& counts = scores.details.thresholds.emplace_back();
  for (const auto& [probability, is_spam] :
       {std::pair{1.0, true}, {0.5, true}, {0.5, false}, {0.0, false}}) {
    counts.add(probability, is_spam);
  }
  // True and false positives, true and false negatives, precision, recall; for the thresholds
  // 0, those up to 0.5, and those above.
  const float rows[6][3] = {{2, 2, 1}, {2, 1, 0},           {0, 1, 2},
                            {0, 0, 1}, {0.5f, 2.0f / 3, 1}, {1, 1, 0.5f}};
  std::vector<float> values;
  for (const auto& [at_zero, up_to_half, above] : rows) {
    values.push_back(at_zero);
    values.insert(values.end(), 100, up_to_half);
    values.insert(values.end(), 100, above);
  }
  EXPECT_EQ(class_events(1.7e9, 3, scores).at(0),
            pr_curve_event(1.7e9, 3, "pr_curves/spam", values));
}

}  // namespace
}  // namespace berth
