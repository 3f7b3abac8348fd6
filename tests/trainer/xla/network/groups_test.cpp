// Compares what is not a loss of each sequence alone with the CPU engine: embeddings, texts that
// are compared, next sentences and teachers. The interpreter runs the programs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/xla/network/compare_updates.h"
#include "tests/trainer/xla/network/group_cases.h"
#include "trainer/model/two_losses.h"
#include "trainer/xla/network/group_losses.h"

namespace berth {
namespace {

// What inference gives of the first rows, and the losses.
void expect_equal_inference(RecordedCase& recorded) {
  LossSum loss;
  const std::vector<float> expected = recorded.cpu().infer(recorded.batch, loss);
  NamedArrays arrays = recorded.values();
  arrays.merge(recorded.inputs({}));
  run(inference_program(recorded.options, recorded.shape()), arrays);
  std::vector<double> found = arrays.at("logits").numbers;
  found.resize(expected.size());  // without padding
  expect_close(found, expected, largest(expected), "logits");
  EXPECT_NEAR(arrays.at("sums").numbers[0], loss.loss, kTolerance * std::abs(loss.loss));
  EXPECT_NEAR(arrays.at("sums").numbers[1], loss.weight, kTolerance);
}

TEST(Groups, EmbeddingsMatchTheCpu) {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kCls, Pooling::kMax}) {
    SCOPED_TRACE(static_cast<int>(pooling));
    for (const Task task : {Task::kTextEmbedding, Task::kSimilarity}) {
      RecordedCase recorded = case_of_texts(task, 6, 1);
      recorded.options.config.pooling = pooling;
      expect_equal_inference(recorded);
    }
  }
}

TEST(Groups, PairsWithNumbersMatchTheCpu) {
  using L = SimilarityLoss;
  for (const L loss : {L::kCosine, L::kCosent, L::kAngle, L::kContrastive, L::kOnlineContrastive}) {
    for (const EmbeddingDistance distance :
         {EmbeddingDistance::kEuclidean, EmbeddingDistance::kCosine,
          EmbeddingDistance::kManhattan}) {
      SCOPED_TRACE(testing::Message()
                   << static_cast<int>(loss) << " " << static_cast<int>(distance));
      RecordedCase recorded = case_of_texts(Task::kSimilarity, 4, 2);
      recorded.options.config.pooling = Pooling::kMax;
      recorded.options.config.similarity = {
          .loss = loss, .scale = 7, .margin = 3, .distance = distance};
      recorded.batch.labels = PackedBatch::Scores{{1, 0, 1, 0}};
      if (loss == L::kCosine || loss == L::kContrastive) recorded.batch.weights = {1, 2, 0.5, 1};
      expect_equal_inference(recorded);
      expect_equal_updates(recorded, 2);
    }
  }
}

TEST(Groups, OneKindOfPairMatchesTheCpu) {
  for (const float label : {0.0f, 1.0f}) {
    RecordedCase recorded = case_of_texts(Task::kSimilarity, 4, 2);
    recorded.options.config.similarity = {.loss = SimilarityLoss::kOnlineContrastive, .margin = 9};
    recorded.batch.labels = PackedBatch::Scores{std::vector<float>(4, label)};
    expect_equal_updates(recorded, 2);
  }
}

TEST(Groups, TextsWithoutNumbersMatchTheCpu) {
  using L = SimilarityLoss;
  for (const L loss : {L::kInBatchNegatives, L::kSymmetric, L::kTriplet}) {
    SCOPED_TRACE(static_cast<int>(loss));
    for (const bool normalizes : {false, true}) {
      RecordedCase recorded =
          case_of_texts(Task::kInBatchNegatives, 2, loss == L::kTriplet ? 3 : 4);
      ModelConfig& config = recorded.options.config;
      config.pooling = Pooling::kMean;
      config.normalizes_embeddings = normalizes;
      config.similarity = {.loss = loss, .scale = 12, .margin = 2};
      recorded.batch.labels = places_in_batch(2);
      expect_equal_inference(recorded);
      expect_equal_updates(recorded, 2);
    }
  }
}

// A model that learnt from triplets predicts rows of any number of texts.
TEST(Groups, RowsThatAreNoTripletsHaveNoLoss) {
  for (const int32_t group : {2, 4}) {
    RecordedCase recorded = case_of_texts(Task::kInBatchNegatives, 2, group);
    recorded.options.config.similarity.loss = SimilarityLoss::kTriplet;
    NamedArrays arrays = recorded.values();
    arrays.merge(recorded.inputs({}));
    run(inference_program(recorded.options, recorded.shape()), arrays);
    LossSum unused;
    const std::vector<float> expected = recorded.cpu().infer(recorded.batch, unused);
    std::vector<double> found = arrays.at("logits").numbers;
    ASSERT_EQ(expected.size(), 4u);
    found.resize(4);  // without padding
    expect_close(found, expected, 1, "logits");
    EXPECT_EQ(arrays.at("sums").numbers, std::vector<double>({0, 0}));
  }
}

TEST(Groups, FalseNegativesAreLeftOutAsOnTheCpu) {
  for (const double margin : {-1.0, 0.0, 0.05}) {
    RecordedCase recorded = case_of_texts(Task::kInBatchNegatives, 4, 2);
    recorded.options.config.similarity.rule = {
        .is_on = true, .margin = margin, .relative_margin = 0.02};
    recorded.batch.labels = places_in_batch(4);
    expect_equal_updates(recorded, 2);
  }
}

TEST(Groups, TextsOfTheSameKindAreContrastedAsOnTheCpu) {
  for (const auto& [anchors, positives] :
       {std::pair(true, false), std::pair(false, true), std::pair(true, true)}) {
    for (const bool has_rule : {false, true}) {
      SCOPED_TRACE(testing::Message() << anchors << positives << has_rule);
      RecordedCase recorded = case_of_texts(Task::kInBatchNegatives, 2, 3);
      SimilarityObjective& objective = recorded.options.config.similarity;
      objective.rule.is_on = has_rule;
      objective.rule.margin = 0.05;
      objective.contrasts_anchors = anchors;
      objective.contrasts_positives = positives;
      recorded.batch.labels = places_in_batch(2);
      expect_equal_inference(recorded);
      expect_equal_updates(recorded, 2);
    }
  }
}

TEST(Groups, DenseModulesMatchTheCpu) {
  for (const Task task : {Task::kTextEmbedding, Task::kSimilarity, Task::kInBatchNegatives}) {
    RecordedCase recorded = case_of_texts(task, 4, task == Task::kTextEmbedding ? 1 : 2);
    add_dense_modules(recorded);
    if (task == Task::kSimilarity) {
      recorded.batch.labels = PackedBatch::Scores{{0.9f, 0.1f, 0.4f, 0.7f}};
    } else if (task == Task::kInBatchNegatives) {
      recorded.batch.labels = places_in_batch(4);
    }
    expect_equal_inference(recorded);
    if (task != Task::kTextEmbedding) expect_equal_updates(recorded, 2);
  }
}

// The cosines of shorter embeddings stand behind the cosine of the whole ones.
TEST(Groups, ShorterSizesHaveColumnsAsOnTheCpu) {
  for (const bool has_dense : {false, true}) {
    RecordedCase recorded = case_of_texts(Task::kSimilarity, 4, 2);
    if (has_dense) add_dense_modules(recorded);
    recorded.options.config.similarity.nested = {{.size = 7}, {.size = 5}, {.size = 2}};
    recorded.batch.labels = PackedBatch::Scores{{0.9f, 0.1f, 0.4f, 0.7f}};
    LossSum loss;
    EXPECT_EQ(recorded.cpu().infer(recorded.batch, loss).size(), has_dense ? 12u : 16u);
    expect_equal_inference(recorded);
    expect_equal_updates(recorded, 2);
  }
}

TEST(Groups, LossesThatAreNotWrittenAreRefused) {
  ModelConfig config = case_of_texts(Task::kInBatchNegatives, 2, 3).options.config;
  const auto is_refused = [&](const char* says) {
    EXPECT_THAT([&] { require_known_loss(config); }, ThrowsCode(Code::kUsage, says));
    config.similarity = {};
  };
  EXPECT_NO_THROW(require_known_loss(config));
  for (const SimilarityLoss loss :
       {SimilarityLoss::kMarginMse, SimilarityLoss::kDistillKl, SimilarityLoss::kEmbeddingMse,
        SimilarityLoss::kEmbeddingCosine}) {
    config.similarity.loss = loss;
    is_refused("the device does not compute a loss that learns from a teacher of texts");
  }
  config.similarity.vector_size = 8;
  is_refused("the device does not compute a loss with another model as its guide");
  config.sources.resize(2);
  is_refused("the device does not compute the losses of several sources of rows");
  config.task = Task::kTextEmbedding;
  EXPECT_NO_THROW(require_known_loss(config));
}

TEST(Groups, NestedSizesMatchTheCpu) {
  for (const Task task : {Task::kInBatchNegatives, Task::kSimilarity}) {
    RecordedCase recorded = case_of_texts(task, 4, 2);
    ModelConfig& config = recorded.options.config;
    config.similarity.nested = {{.size = config.hidden_size, .weight = 1},
                                {.size = 5, .weight = 0.5}};
    config.similarity.compared_size = 5;
    if (task == Task::kSimilarity) {
      recorded.batch.labels = PackedBatch::Scores{{0.9f, 0.1f, 0.4f, 0.7f}};
    } else {
      recorded.batch.labels = places_in_batch(4);
    }
    expect_equal_inference(recorded);
    expect_equal_updates(recorded, 2);
  }
}

TEST(Groups, RowsOfPassagesMatchTheCpu) {
  using L = RerankingLoss;
  for (const L loss :
       {L::kBinaryCrossEntropy, L::kSquaredError, L::kSoftmax, L::kLambda, L::kMarginMse}) {
    SCOPED_TRACE(static_cast<int>(loss));
    RecordedCase recorded = case_of_texts(Task::kListReranking, 2, 4);
    recorded.options.config.reranking = {.loss = loss, .positive_weight = 2};
    recorded.batch.labels = places_in_batch(2);
    if (learns_scores(loss)) recorded.batch.text_scores = {3, 1, 0.5, -2, 4, 4.5, 0, 1};
    recorded.batch.weights = {1, 0.5};
    expect_equal_inference(recorded);
    expect_equal_updates(recorded, 2);
  }
}

class GroupsOfTextPairs : public testing::TestWithParam<Task> {};
INSTANTIATE_TEST_SUITE_P(All, GroupsOfTextPairs,
                         testing::Values(Task::kNextSentence, Task::kSentenceOrder),
                         [](const auto& test) { return std::string(task_name(test.param)); });

TEST_P(GroupsOfTextPairs, MatchTheCpu) {
  RecordedCase recorded = case_of_next_sentences(GetParam());
  recorded.next_weight = static_cast<float>(
      second_factor(loss_weights(recorded.options.config, {&recorded.batch, 1})));
  EXPECT_GT(recorded.next_weight, 1);
  recorded.options.loss.label_smoothing = 0.1;
  expect_equal_updates(recorded, 3);
}

TEST(Groups, ATeacherOfClassesMatchesTheCpu) {
  RecordedCase recorded = case_of_teacher();
  expect_equal_updates(recorded, 3);
}

}  // namespace
}  // namespace berth
