#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "storage/base/error.h"
#include "tests/support/captured_log.h"
#include "tests/support/letter_data.h"
#include "trainer/tasks/answer_picker.h"
#include "trainer/tasks/evaluator.h"
#include "trainer/tasks/glue.h"
#include "trainer/tasks/predictions.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAreArray;

TEST(TaskResults, EveryTaskThatIsTrainedHasARow) {
  for (const TaskTraits& task : task_table()) {
    // Those of a teacher are never evaluated.
    if (task.task == Task::kTextEmbedding || task.task == Task::kHiddenStates) continue;
    EXPECT_EQ(results_of(task.task).task, task.task) << task.names[0];
  }
}

TEST(GlueTasks, AreFoundInAnySpelling) {
  for (const char* name : {"sst2", "SST-2", "sst_2"}) {
    ASSERT_NE(find_glue_task(name), nullptr) << name;
    EXPECT_EQ(find_glue_task(name)->name, "sst2");
  }
  EXPECT_EQ(find_glue_task("sst3"), nullptr);
  EXPECT_EQ(glue_tasks().size(), 10u);
  for (const GlueTask& task : glue_tasks()) {
    if (task.train.empty()) continue;
    const auto metrics = metric_names(task.task, static_cast<int64_t>(task.labels.size()));
    EXPECT_THAT(metrics, testing::Contains(std::string(task.metric))) << task.name;
  }
}

// Returns given features for every text.
class MadeFeatures final : public FeatureMaker {
 public:
  std::vector<Features> made;
  std::vector<Features> make(const Example&) const override { return made; }
};

// A data set of one row with these features.
struct OneRow {
  OneRow(Task task, std::vector<Features> features, const Example& example = {.texts = {"a"}}) {
    maker.made = std::move(features);
    table.append(example);
    table.finish();
    data.emplace(table, std::vector<uint32_t>{0}, task, maker, true);
  }
  ExampleTable table;
  MadeFeatures maker;
  std::optional<Dataset> data;
};

TaskScores scores(OneRow& row, const std::vector<std::string>& labels,
                  const std::vector<std::vector<float>>& logits,
                  const PredictionRules& rules = {}) {
  const auto evaluator = make_evaluator(*row.data, labels, rules);
  for (size_t i = 0; i < logits.size(); ++i) evaluator->add(static_cast<int64_t>(i), logits[i]);
  return evaluator->finish();
}

TEST(Evaluator, ReportsTheScoresOfItsTask) {
  OneRow one_class(Task::kSequenceClassification,
                   {{.input_ids = {1}, .token_type_ids = {0}, .classes = {1}}});
  const TaskScores classes = scores(one_class, {"a", "b", "c"}, {{0, 1, 0}});
  EXPECT_EQ(classes.metrics.at("accuracy"), 1);
  EXPECT_EQ(classes.majority_rate, 1);
  ASSERT_EQ(classes.classes.size(), 3u);
  EXPECT_EQ(classes.classes[1].name, "b");
  EXPECT_EQ(classes.classes[1].support, 1);
  EXPECT_EQ(classes.confusion[1], (std::vector<int64_t>{0, 1, 0}));

  OneRow score(Task::kRegression, {{.input_ids = {1}, .token_type_ids = {0}, .targets = {2}}});
  EXPECT_EQ(scores(score, {"score"}, {{5}}).metrics.at("mse"), 9);

  OneRow set(Task::kMultiLabel, {{.input_ids = {1}, .token_type_ids = {0}, .targets = {1, 0}}});
  EXPECT_EQ(scores(set, {"a", "b"}, {{3, -3}}).metrics.at("accuracy"), 1);
}

// A data set of sets of two labels, one for each row.
struct Sets {
  explicit Sets(const std::vector<std::vector<float>>& targets) {
    std::vector<uint32_t> rows;
    for (const std::vector<float>& each : targets) {
      maker.made.push_back({.input_ids = {1}, .token_type_ids = {0}, .targets = each});
      table.append({.texts = {std::to_string(rows.size())}});
      rows.push_back(static_cast<uint32_t>(rows.size()));
    }
    table.finish();
    data.emplace(table, rows, Task::kMultiLabel, maker, true);
  }

  // Returns the features of the row whose number is its text.
  class Maker final : public FeatureMaker {
   public:
    std::vector<Features> made;
    std::vector<Features> make(const Example& example) const override {
      return {made.at(std::stoul(example.texts[0]))};
    }
  };

  TaskScores scores(const std::vector<std::vector<float>>& logits, LabelThresholds thresholds) {
    const auto evaluator = make_evaluator(*data, {"rude", "kind"}, {.thresholds = thresholds});
    for (size_t i = 0; i < logits.size(); ++i) evaluator->add(static_cast<int64_t>(i), logits[i]);
    return evaluator->finish();
  }
  std::string lines(const std::vector<std::vector<float>>& logits, LabelThresholds thresholds) {
    const auto all = make_prediction_lines(*data, {"rude", "kind"}, {.thresholds = thresholds});
    std::string predicted;
    for (size_t i = 0; i < logits.size(); ++i) {
      const std::string line = all->add(static_cast<int64_t>(i), logits[i]);
      const size_t begin = line.find('\t') + 1;
      predicted += line.substr(begin, line.find('\t', begin) - begin) + ";";
    }
    return predicted;
  }

  ExampleTable table;
  Maker maker;
  std::optional<Dataset> data;
};

TEST(LabelThresholds, AreChosenByAnEvaluation) {
  using enum LabelThresholds::Choice;
  // The model is too careful about "rude", and too bold about "kind".
  const std::vector<std::vector<float>> logits = {{-1, 1}, {-2, 2}, {-4, 3}, {-5, -1}};
  Sets sets({{1, 0}, {1, 0}, {0, 1}, {0, 0}});
  const TaskScores usual = sets.scores(logits, {});
  EXPECT_TRUE(usual.label_thresholds.empty());
  EXPECT_EQ(usual.classes[0].f1, 0);
  EXPECT_EQ(usual.classes[1].f1, 0.5);
  EXPECT_EQ(usual.details.mistakes.size(), 2u);

  const TaskScores each = sets.scores(logits, {.choice = kBestForEach});
  EXPECT_EQ(each.metrics.at("f1_macro"), 1);
  EXPECT_EQ(each.metrics.at("accuracy"), 1);
  EXPECT_EQ(each.details.mistakes.size(), 0u);
  const auto middle = [](float a, float b) { return (sigmoid(a) + sigmoid(b)) / 2; };
  ASSERT_EQ(each.label_thresholds.size(), 2u);
  EXPECT_NEAR(each.label_thresholds[0], middle(-4, -2), 1e-12);
  EXPECT_NEAR(each.label_thresholds[1], middle(2, 3), 1e-12);

  // 3 of the 4 labels above logit 2, 2 of 3, ... : all of them above the middle of -4 and -2.
  const TaskScores all = sets.scores(logits, {.choice = kBestForAll});
  ASSERT_EQ(all.label_thresholds.size(), 2u);
  EXPECT_EQ(all.label_thresholds[0], all.label_thresholds[1]);
  EXPECT_NEAR(all.label_thresholds[0], middle(-4, -2), 1e-12);
  EXPECT_NEAR(all.metrics.at("f1_micro"), 2 * 3 / (6.0 + 3), 1e-12);

  // The same thresholds, given, have the same results.
  const LabelThresholds given{.given = each.label_thresholds};
  EXPECT_EQ(sets.scores(logits, given).metrics, each.metrics);
  EXPECT_EQ(sets.scores(logits, given).label_thresholds, each.label_thresholds);
  EXPECT_EQ(sets.lines(logits, given), "rude;rude;kind;;");
  EXPECT_EQ(sets.lines(logits, {}), "kind;kind;kind;;");
}

TEST(Evaluator, CorrelatesMoreThanTwoClassesIfAsked) {
  OneRow row(Task::kSequenceClassification,
             {{.input_ids = {1}, .token_type_ids = {0}, .classes = {1}}});
  const std::vector<std::string> labels = {"a", "b", "c"};
  EXPECT_FALSE(scores(row, labels, {{0, 1, 0}}).metrics.contains("matthews_correlation"));
  const PredictionRules rules{.correlates_classes = true};
  EXPECT_TRUE(scores(row, labels, {{0, 1, 0}}, rules).metrics.contains("matthews_correlation"));
}

TEST(Evaluator, ReportsTheMetricsThatAreNamedBefore) {
  OneRow one_class(Task::kSequenceClassification,
                   {{.input_ids = {1}, .token_type_ids = {0}, .classes = {1}}});
  for (const size_t count : {2u, 3u, 6u, 20u, 21u}) {
    const std::vector<std::string> labels(count, "x");
    const std::vector<float> logits(count);
    OneRow set(Task::kMultiLabel, {{.input_ids = {1}, .token_type_ids = {0}, .targets = logits}});
    for (OneRow* row : {&one_class, &set}) {
      std::vector<std::string> reported;
      for (const auto& [name, value] : scores(*row, labels, {logits}).metrics) {
        reported.push_back(name);
      }
      EXPECT_THAT(reported, UnorderedElementsAreArray(
                                metric_names(row->data->task(), static_cast<int64_t>(count))));
    }
  }
}

TEST(Evaluator, ShowsMistakesWithTheirTexts) {
  OneRow one_class(Task::kSequenceClassification,
                   {{.input_ids = {1}, .token_type_ids = {0}, .classes = {1}}});
  const EvaluationDetails of_class = scores(one_class, {"x", "y"}, {{1, 1}}).details;
  ASSERT_EQ(of_class.mistakes.size(), 1u);
  EXPECT_EQ(of_class.mistakes[0].truth, "y");
  EXPECT_EQ(of_class.mistakes[0].prediction, "x");
  EXPECT_EQ(of_class.mistakes[0].badness, 0.5);
  EXPECT_THAT(of_class.mistakes[0].texts, ElementsAre("a"));
  EXPECT_EQ(of_class.calibration->bins()[5].count, 1);
  EXPECT_TRUE(scores(one_class, {"x", "y"}, {{0, 1}}).details.mistakes.empty());

  OneRow words(Task::kTokenClassification,
               {{.input_ids = {1, 5, 6, 2},
                 .token_type_ids = {0, 0, 0, 0},
                 .classes = {-1, 0, 1, -1},
                 .words = {-1, 0, 1, -1}}},
               {.texts = {"in", "Oslo"}});
  const EvaluationDetails of_words =
      scores(words, {"O", "B-place"}, {{0, 0, 3, 0, 3, 0, 0, 0}}).details;
  ASSERT_EQ(of_words.mistakes.size(), 1u);
  EXPECT_THAT(of_words.mistakes[0].texts, ElementsAre("Oslo", "in Oslo"));
  EXPECT_EQ(of_words.mistakes[0].truth, "B-place");

  OneRow set(Task::kMultiLabel, {{.input_ids = {1}, .token_type_ids = {0}, .targets = {1, 0, 1}}});
  const EvaluationDetails of_set = scores(set, {"x", "y", "z"}, {{3, 1, -2}}).details;
  ASSERT_EQ(of_set.mistakes.size(), 1u);
  EXPECT_EQ(of_set.mistakes[0].truth, "x, z");
  EXPECT_EQ(of_set.mistakes[0].prediction, "x, y");
  EXPECT_NEAR(of_set.mistakes[0].badness, 0.8808, 1e-4);  // that z is no label
  EXPECT_EQ(scores(set, {"x", "y", "z"}, {{-3, -1, -2}}).details.mistakes.at(0).prediction,
            "(none)");
  EXPECT_TRUE(scores(set, {"x", "y", "z"}, {{3, -1, 2}}).details.mistakes.empty());

  OneRow score(Task::kRegression, {{.input_ids = {1}, .token_type_ids = {0}, .targets = {2}}});
  const EvaluationDetails of_number = scores(score, {"score"}, {{5}}).details;
  EXPECT_EQ(of_number.mistakes.at(0).badness, 3);
  EXPECT_EQ(of_number.numbers.at(0).prediction, 5);
  EXPECT_EQ(of_number.mean_squared_error, 0);
}

TEST(Evaluator, CountsWhatThresholdsWouldPredictOfEachClass) {
  OneRow one_class(Task::kSequenceClassification,
                   {{.input_ids = {1}, .token_type_ids = {0}, .classes = {1}}});
  const auto of_class = scores(one_class, {"x", "y"}, {{0, std::log(3.0f)}}).details.thresholds;
  ASSERT_EQ(of_class.size(), 2u);
  EXPECT_EQ(of_class[0].at_thresholds()[0].support, 0);
  EXPECT_EQ(of_class[0].at_thresholds()[49].predicted, 1);  // its probability is 0.25
  EXPECT_EQ(of_class[0].at_thresholds()[51].predicted, 0);
  EXPECT_EQ(of_class[1].at_thresholds()[149].true_positives, 1);
  EXPECT_EQ(of_class[1].at_thresholds()[151].true_positives, 0);

  OneRow set(Task::kMultiLabel, {{.input_ids = {1}, .token_type_ids = {0}, .targets = {1, 0}}});
  const auto of_set = scores(set, {"x", "y"}, {{0, 0}}).details.thresholds;
  EXPECT_EQ(of_set[0].at_thresholds()[99].true_positives, 1);
  EXPECT_EQ(of_set[1].at_thresholds()[99].predicted, 1);
  EXPECT_EQ(of_set[1].at_thresholds()[101].predicted, 0);

  const std::vector<std::string> many(EvaluationDetails::kMostWithCurves + 1, "label");
  const std::vector<float> logits(many.size());
  EXPECT_TRUE(scores(one_class, many, {logits}).details.thresholds.empty());
}

TEST(Evaluator, CountsTheMaskedTokensThatThePredictionHits) {
  const LetterTokenizer tokenizer;
  const Masking masking(tokenizer, {.probability = 0.5});
  OneRow row(Task::kMaskedLm, {{.input_ids = {1, 3, 4, 5, 6, 2}, .token_type_ids = {}}});
  row.data->mask_with(masking);
  std::vector<int32_t> ids = {1, 3, 4, 5, 6, 2};
  PackedBatch::MaskedTokens masked;
  masking.mask(MaskingRound::of_evaluation(), 0, ids, 0, masked);
  ASSERT_EQ(masked.ids.size(), 2u);
  const auto hit = static_cast<float>(masked.ids[0]);
  const TaskScores told = scores(row, {}, {{1.0f, hit, 3.0f, 28.0f}});
  EXPECT_EQ(told.metrics.at("masked_accuracy"), 0.5);
  EXPECT_NEAR(told.metrics.at("perplexity"), std::exp(2.0), 1e-9);
}

// A document of two windows, with a vector of each of their tokens.
TEST(Evaluator, ComparesTheDirectionsOfEveryToken) {
  OneRow row(Task::kHiddenStateDistillation, {{.input_ids = {1, 2, 3}, .token_type_ids = {}},
                                              {.input_ids = {1}, .token_type_ids = {}}});
  RowTargets states(std::vector<uint32_t>{4}, 2, DType::kF32);
  states.set(0, std::vector<float>{1, 0, 0, 1, 1, 1, 3, 4});
  row.data->set_targets(states);
  // cosines: 1, -1, 1 / sqrt(2), and 1 of the second window.
  const TaskScores told = scores(row, {}, {{5, 0, 0, -1, 2, 0}, {6, 8}});
  EXPECT_NEAR(told.metrics.at("cosine_similarity"), (1 + std::sqrt(0.5)) / 4, 1e-9);
}

// Six tokens, two of them masked. The first of these was replaced and the second drawn as it was.
TEST(Evaluator, JudgesTheDiscriminatorAndTheGenerator) {
  const LetterTokenizer tokenizer;
  const Masking masking(tokenizer, {.probability = 0.5});
  OneRow row(Task::kReplacedTokenDetection,
             {{.input_ids = {1, 3, 4, 5, 6, 2}, .token_type_ids = {}}});
  row.data->mask_with(masking);
  std::vector<int32_t> ids = {1, 3, 4, 5, 6, 2};
  PackedBatch::MaskedTokens masked;
  masking.mask(MaskingRound::of_evaluation(), 0, ids, 0, masked);
  ASSERT_EQ(masked.ids.size(), 2u);
  std::vector<float> logits;
  for (int32_t t = 0; t < 6; ++t) {
    if (t == masked.tokens[0]) {
      logits.insert(logits.end(), {2, 1, 1, static_cast<float>(masked.ids[0])});
    } else if (t == masked.tokens[1]) {
      logits.insert(logits.end(), {3, 0, 3, 28});  // suspected wrongly
    } else {
      logits.insert(logits.end(), {-1, 0, 0, -1});
    }
  }
  const TaskScores told = scores(row, {}, {logits});
  EXPECT_NEAR(told.metrics.at("disc_accuracy"), 5.0 / 6, 1e-9);
  EXPECT_EQ(told.metrics.at("disc_precision"), 0.5);
  EXPECT_EQ(told.metrics.at("disc_recall"), 1);
  EXPECT_NEAR(told.metrics.at("disc_auc"), 0.8, 1e-9);  // one of five originals is above
  EXPECT_NEAR(
      told.metrics.at("disc_loss"),
      (std::log1p(std::exp(-2.0)) + std::log1p(std::exp(3.0)) + 4 * std::log1p(std::exp(-1.0))) / 6,
      1e-6);
  EXPECT_EQ(told.metrics.at("masked_accuracy"), 0.5);
  EXPECT_NEAR(told.metrics.at("perplexity"), std::exp(2.0), 1e-9);
  EXPECT_NEAR(told.majority_rate.value(), 5.0 / 6, 1e-9);
}

// Two pairs whose tokens are masked already: each has the logits of its class and its masked
// tokens.
TEST(Evaluator, JudgesMaskedTokensAndNextSentences) {
  OneRow row(
      Task::kNextSentence,
      {{.input_ids = {1, 3, 0, 2, 0, 2},
        .token_type_ids = {},
        .classes = {1},
        .masked = {2, 7, 4, 8}},
       {.input_ids = {1, 0, 2, 5, 2}, .token_type_ids = {}, .classes = {0}, .masked = {1, 9}}});
  const TaskScores told = scores(row, {}, {{-1, 2, 0.5f, 7, 3, 9}, {1, 3, 1, 9}});
  EXPECT_NEAR(told.metrics.at("masked_lm_accuracy"), 2.0 / 3, 1e-9);
  EXPECT_NEAR(told.metrics.at("masked_lm_loss"), 1.5, 1e-9);
  EXPECT_EQ(told.metrics.at("next_sentence_accuracy"), 0.5);
  EXPECT_NEAR(told.metrics.at("next_sentence_loss"),
              (std::log1p(std::exp(-3.0)) + std::log1p(std::exp(2.0))) / 2, 1e-9);
}

// Of the words "a", "b", "c" and "d" the model sees the first two: an entity is whole, one is cut,
// and one is beyond the cut.
TEST(Evaluator, TellsHowManyEntitiesWereNotScored) {
  const auto warnings = [](const std::vector<int32_t>& words) {
    const size_t tokens = words.size();
    OneRow row(Task::kTokenClassification,
               {{.input_ids = std::vector<int32_t>(tokens),
                 .token_type_ids = std::vector<int32_t>(tokens),
                 .classes = std::vector<int32_t>(tokens, 1),
                 .words = words}},
               {.texts = {"a", "b", "c", "d"}, .labels = {1, 1, 2, 1}});
    for (const char* tag : {"O", "B-X", "I-X"}) row.table.labels.entry(tag);
    const CapturedLog log;
    scores(row, {"O", "B-X", "I-X"}, {std::vector<float>(3 * tokens)});
    return log.warnings();
  };
  EXPECT_THAT(warnings({0, 1}),
              testing::HasSubstr("2 words with 2 of 3 entities were not scored, because the model "
                                 "did not see them: they are beyond --max-seq-length"));
  EXPECT_EQ(warnings({0, 1, 2, 3}), "");
}

TEST(Evaluator, OnlyWordsWithATagCount) {
  OneRow words(Task::kTokenClassification, {{.input_ids = {1, 5, 6, 2},
                                             .token_type_ids = {0, 0, 0, 0},
                                             .classes = {-1, 1, 0, -1},
                                             .words = {-1, 0, 1, -1}}});
  const TaskScores right = scores(words, {"O", "B-X"}, {{0, 9, 0, 1, 1, 0, 0, 9}});
  EXPECT_EQ(right.metrics.at("entity_f1"), 1);
  EXPECT_EQ(right.metrics.at("accuracy"), 1);
  EXPECT_EQ(right.classes[0].name, "X");
  EXPECT_EQ(scores(words, {"O", "B-X"}, {{0, 9, 1, 0, 1, 0, 0, 9}}).metrics.at("entity_f1"), 0);
}

// [CLS] q [SEP] "it" "was" "me" [SEP]
Features window() {
  return {.input_ids = {1, 9, 2, 5, 6, 7, 2},
          .token_type_ids = {0, 0, 0, 1, 1, 1, 1},
          .context = {{}, {}, {}, {0, 2}, {3, 6}, {7, 9}, {}}};
}

// Logits [7,2] of the window's tokens: 0, except `by` for the start and the end of the answer.
std::vector<float> logits(size_t start, size_t end, float by = 5) {
  std::vector<float> values(14, 0);
  values[2 * start] += by;
  values[2 * end + 1] += by;
  return values;
}

TEST(AnswerPicker, TakesTheHighestSpanInsideTheContext) {
  AnswerPicker picker({});
  picker.add(window(), logits(4, 5));
  const PickedAnswer answer = picker.pick("it was me");
  EXPECT_EQ(answer.text, "was me");
  EXPECT_EQ(answer.begin, 3u);
  EXPECT_EQ(answer.end, 9u);
  EXPECT_GT(answer.probability, 0.9);
  picker.add(window(), logits(1, 6));  // both tokens are outside the context
  EXPECT_NE(picker.pick("it was me").text, "");
}

TEST(AnswerPicker, AnAnswerIsNotTooLongNorBackwards) {
  AnswerPicker picker({.max_answer_length = 2});
  picker.add(window(), logits(3, 5));
  EXPECT_NE(picker.pick("it was me").text, "it was me");
  AnswerPicker any({});
  any.add(window(), logits(5, 3));
  EXPECT_NE(any.pick("it was me").text, "");
}

TEST(AnswerPicker, TheBestOfAllWindowsCounts) {
  AnswerPicker picker({});
  picker.add(window(), logits(3, 3, 2));
  picker.add(window(), logits(5, 5, 6));
  picker.add(window(), logits(4, 4, 4));
  EXPECT_EQ(picker.pick("it was me").text, "me");
}

TEST(AnswerPicker, ThereMayBeNoAnswer) {
  AnswerPicker picker({.may_be_none = true});
  picker.add(window(), logits(0, 0));
  EXPECT_EQ(picker.pick("it was me").text, "");
  AnswerPicker willing({.may_be_none = true, .null_threshold = 20});
  willing.add(window(), logits(0, 0));
  EXPECT_NE(willing.pick("it was me").text, "");
  AnswerPicker always({});
  always.add(window(), logits(0, 0));
  EXPECT_NE(always.pick("it was me").text, "");
}

TEST(AnswerPicker, CountsCodePoints) {
  AnswerPicker picker({});
  Features features = window();
  features.context[5] = {5, 7};
  picker.add(features, logits(5, 5));
  EXPECT_EQ(picker.pick("é ü à me").text, " m");
}

TEST(PredictionLines, HaveTheColumnsOfTheTask) {
  OneRow score(Task::kRegression, {{.input_ids = {1}, .token_type_ids = {0}}});
  const auto scores = make_prediction_lines(*score.data, {"score"}, {});
  EXPECT_EQ(scores->header(), "id\tscore\n");
  EXPECT_EQ(scores->add(0, std::vector<float>{2.5f}), "0\t2.500000000\n");

  OneRow set(Task::kMultiLabel, {{.input_ids = {1}, .token_type_ids = {0}}});
  const auto sets = make_prediction_lines(*set.data, {"a", "b", "c"}, {});
  EXPECT_EQ(sets->header(), "id\tprediction\ta\tb\tc\n");
  EXPECT_EQ(sets->add(0, std::vector<float>{100, -100, 100}),
            "0\ta|c\t1.000000000\t0.000000000\t1.000000000\n");

  OneRow words(Task::kTokenClassification,
               {{.input_ids = {1, 5, 2}, .token_type_ids = {0, 0, 0}, .words = {-1, 0, -1}}});
  const auto tags = make_prediction_lines(*words.data, {"O", "B"}, {});
  EXPECT_EQ(tags->add(0, std::vector<float>{0, 0, 0, 100, 0, 0}), "0\t0\tB\t1.000000000\n");
}

TEST(PredictionLines, HaveAColumnOfItsOwnForEachLabel) {
  OneRow row(Task::kSequenceClassification, {{.input_ids = {1}, .token_type_ids = {0}}});
  const auto header = [&](const std::vector<std::string>& labels) {
    return make_prediction_lines(*row.data, labels, {})->header();
  };
  EXPECT_EQ(header({"id", "prediction", "text"}),
            "id\tprediction\tprobability_id\tprobability_prediction\tprobability_text\n");
  EXPECT_EQ(header({"id", "probability_id"}),
            "id\tprediction\tprobability_probability_id\tprobability_id\n");
  OneRow set(Task::kMultiLabel, {{.input_ids = {1}, .token_type_ids = {0}}});
  EXPECT_EQ(make_prediction_lines(*set.data, {"text_pair", "b"}, {})->header(),
            "id\tprediction\tprobability_text_pair\tb\n");
}

TEST(PredictionLines, OfAnEmptyRowHaveAllFields) {
  OneRow row(Task::kSequenceClassification, {{.input_ids = {1}, .token_type_ids = {0}}},
             {.texts = {" "}});
  const auto lines =
      with_empty_rows(make_prediction_lines(*row.data, {"a\tb", "c"}, {}), *row.data);
  EXPECT_EQ(lines->header(), "id\tprediction\t\"a\tb\"\tc\n");
  EXPECT_EQ(lines->add(0, std::vector<float>{1, 2}), "0\t\t\t\n");
}

TEST(PredictionLines, OfTagsHaveALineForEveryWord) {
  OneRow words(Task::kTokenClassification,
               {{.input_ids = {1, 5, 2}, .token_type_ids = {0, 0, 0}, .words = {-1, 1, -1}}},
               {.texts = {"\xEF\xB8\x8F", "b", "c"}});
  const std::vector<float> logits = {0, 0, 0, 100, 0, 0};
  const auto tags = make_prediction_lines(*words.data, {"O", "B"}, {});
  EXPECT_EQ(tags->add(0, logits),
            "0\t0\tO\t0.000000000\n0\t1\tB\t1.000000000\n0\t2\tO\t0.000000000\n");
  EXPECT_EQ(tags->unseen_words(), 2);
  const auto others = make_prediction_lines(*words.data, {"A", "B"}, {});
  EXPECT_EQ(others->add(0, logits).substr(0, 16), "0\t0\t\t0.000000000");
}

TEST(PredictionLines, OfASentenceWithAnEmptyWordHaveALineForEveryWord) {
  OneRow words(Task::kTokenClassification,
               {{.input_ids = {1, 5, 2}, .token_type_ids = {0, 0, 0}, .words = {-1, 1, -1}}},
               {.texts = {"", "Paris"}});
  const auto tags =
      with_empty_rows(make_prediction_lines(*words.data, {"O", "B"}, {}), *words.data);
  EXPECT_EQ(tags->add(0, std::vector<float>{0, 0, 0, 100, 0, 0}),
            "0\t0\tO\t0.000000000\n0\t1\tB\t1.000000000\n");
  EXPECT_EQ(tags->empty_rows(), 0);
}

TEST(PredictionLines, CountTheRowsLeftOut) {
  ExampleTable table;
  table.append({.texts = {"a"}});
  table.leave_out();
  table.leave_out();
  table.append({.texts = {"b"}});
  table.finish();
  MadeFeatures maker;
  Dataset data(table, {0, 1}, Task::kRegression, maker, false);
  const auto lines = make_prediction_lines(data, {"score"}, {});
  EXPECT_EQ(lines->add(0, std::vector<float>{1}), "0\t1.000000000\n");
  EXPECT_EQ(lines->add(1, std::vector<float>{2}), "3\t2.000000000\n");
}

TEST(PredictionLines, OfAQuestionComeAfterItsLastWindow) {
  OneRow question(Task::kQuestionAnswering, {window(), window()},
                  {.id = "q7", .texts = {"who?", "it was me"}});
  const auto lines = make_prediction_lines(*question.data, {}, {});
  EXPECT_EQ(lines->header(), "id\tanswer\tstart\tend\tprobability\n");
  EXPECT_EQ(lines->add(0, logits(5, 5, 50)), "");
  EXPECT_EQ(lines->add(1, logits(4, 4, 20)), "q7\tme\t7\t9\t1.000000000\n");
}

TEST(TestResults, HoldOnlyProbabilities) {
  OneRow row(Task::kSequenceClassification, {{.input_ids = {1}, .token_type_ids = {0}}});
  const auto results = results_of(Task::kSequenceClassification).test_results();
  EXPECT_EQ(results->header(), "");
  EXPECT_EQ(results->add(0, std::vector<float>{0, 0}), "0.500000000\t0.500000000\n");
}

}  // namespace
}  // namespace berth
