#include "entrypoint/flags/similarity_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/train_sources.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

Settings with_loss(std::optional<SimilarityLoss> loss) {
  Settings settings;
  settings.embedding.loss = loss;
  return settings;
}

TEST(SimilarityRules, DefaultsAreThoseOfSentenceTransformers) {
  const SimilarityObjective usual = similarity_objective({}, Task::kInBatchNegatives, true);
  EXPECT_EQ(usual.loss, SimilarityLoss::kInBatchNegatives);
  EXPECT_EQ(usual.scale, 20);
  EXPECT_EQ(similarity_objective({}, Task::kSimilarity, true).loss, SimilarityLoss::kCosine);
  const SimilarityObjective triplet =
      similarity_objective(with_loss(SimilarityLoss::kTriplet), Task::kInBatchNegatives, true);
  EXPECT_EQ(triplet.margin, 5);
  EXPECT_EQ(triplet.distance, EmbeddingDistance::kEuclidean);
  const SimilarityObjective contrastive =
      similarity_objective(with_loss(SimilarityLoss::kContrastive), Task::kSimilarity, true);
  EXPECT_EQ(contrastive.margin, 0.5);
  EXPECT_EQ(contrastive.distance, EmbeddingDistance::kCosine);
}

TEST(SimilarityRules, SizesAreSortedWithTheirWeights) {
  Settings settings;
  settings.embedding.matryoshka_dims = "64,768,256";
  settings.embedding.matryoshka_weights = "1,2,0.5";
  const SimilarityObjective objective = similarity_objective(settings, Task::kSimilarity, true);
  EXPECT_THAT(objective.nested,
              testing::ElementsAre(NestedSize{768, 2}, NestedSize{256, 0.5}, NestedSize{64, 1}));
  ModelConfig config;
  config.hidden_size = 384;
  EXPECT_THAT([&] { require_sizes(objective, config); },
              ThrowsCode(Code::kUsage, "768 is more than the 384 numbers"));
}

TEST(SimilarityRules, ListsThatAreNoneAreRefused) {
  const auto refused = [](const std::string& sizes, const std::string& weights, const char* says) {
    Settings settings;
    settings.embedding.matryoshka_dims = sizes;
    settings.embedding.matryoshka_weights = weights;
    EXPECT_THAT([&] { check_similarity(settings); }, ThrowsCode(Code::kUsage, says));
  };
  refused("8,x", "", "--matryoshka-dims");
  refused("8,0", "", "--matryoshka-dims");
  refused("8,8", "", "8 stands there twice");
  refused("8,4", "1", "1 weight for 2 sizes");
  refused("8,4", "1,-1", "--matryoshka-weights");
}

TEST(SimilarityRules, AFlagThatChangesNothingInTheLossIsRefused) {
  Settings settings = with_loss(SimilarityLoss::kTriplet);
  settings.embedding.scale = 30;
  EXPECT_THAT([&] { check_similarity(settings); },
              ThrowsCode(Code::kUsage, "--similarity-scale: the flag changes nothing"));
  settings.embedding.loss.reset();
  EXPECT_NO_THROW(check_similarity(settings));  // the rows decide
  EXPECT_THAT([&] { similarity_objective(settings, Task::kSimilarity, true); },
              ThrowsCode(Code::kUsage, "--similarity-scale"));
  Settings margin;
  margin.embedding.margin = 1;
  EXPECT_THAT([&] { check_similarity(margin); }, ThrowsCode(Code::kUsage, "--similarity-margin"));
}

TEST(SimilarityRules, RowsThatAreComparedHaveNoWeights) {
  Settings settings = with_loss(SimilarityLoss::kCosent);
  settings.data.weight_column = "weight";
  EXPECT_THAT([&] { check_similarity(settings); }, ThrowsCode(Code::kUsage, "--weight-column"));
  settings.embedding.loss = SimilarityLoss::kContrastive;
  EXPECT_NO_THROW(check_similarity(settings));
}

TEST(SimilarityRules, TruncationIsOfEmbeddings) {
  ModelConfig config;
  config.hidden_size = 16;
  const EmbeddingOptions options{.truncate_dim = 17};
  EXPECT_THAT([&] { require_truncation(options, config, Task::kTextEmbedding); },
              ThrowsCode(Code::kUsage, "--truncate-dim: 17 is more than the 16 numbers"));
  EXPECT_THAT([&] { require_truncation(options, config, Task::kRegression); },
              ThrowsCode(Code::kUsage, "the model makes no embeddings"));
  Settings settings;
  settings.mode = Mode::kPredict;
  settings.embedding = {.matryoshka_dims = "16,8", .truncate_dim = 4};
  const SimilarityObjective objective = similarity_objective(settings, Task::kSimilarity, true);
  EXPECT_EQ(objective.compared_size, 4);
  EXPECT_THAT(objective.nested, testing::ElementsAre(NestedSize{4, 1}));
}

TEST(SimilarityRules, AFinishedModelIsScoredWithoutItsTeacher) {
  Settings settings = with_loss(SimilarityLoss::kDistillKl);
  settings.embedding.scale = 0.5;
  EXPECT_EQ(similarity_objective(settings, Task::kInBatchNegatives, false).teacher_scale, 0.5);
  settings.mode = Mode::kEval;
  EXPECT_EQ(similarity_objective(settings, Task::kInBatchNegatives, true).loss,
            SimilarityLoss::kDistillKl);
  const SimilarityObjective usual = similarity_objective(settings, Task::kInBatchNegatives, false);
  EXPECT_EQ(usual.loss, SimilarityLoss::kInBatchNegatives);
  EXPECT_EQ(usual.scale, 20);
  settings.embedding.loss = SimilarityLoss::kEmbeddingMse;
  settings.embedding.scale.reset();
  EXPECT_EQ(similarity_objective(settings, Task::kSimilarity, true).loss, SimilarityLoss::kCosine);
  settings.embedding = {.guide = "other"};
  EXPECT_FALSE(similarity_objective(settings, Task::kInBatchNegatives, true).rule.is_on);
  settings.mode = Mode::kTrain;
  EXPECT_TRUE(similarity_objective(settings, Task::kInBatchNegatives, true).rule.is_on);
}

TEST(SimilarityRules, ASourceHasItsFileAndItsSettings) {
  const TrainSource source = parse_train_source("a,b=c.csv,weight=2,loss=cosent,max-similarity=5");
  EXPECT_EQ(source.file, "a,b=c.csv");
  EXPECT_EQ(source.weight, 2);
  EXPECT_EQ(source.loss, SimilarityLoss::kCosent);
  EXPECT_EQ(source.max_similarity, 5);
  Settings job;
  job.data.label_column = "stars";
  job.embedding.scale = 7;
  const Settings own = source.settings(job);
  EXPECT_EQ(own.data.train_data_file, "a,b=c.csv");
  EXPECT_EQ(own.data.label_column, "");
  EXPECT_FALSE(own.embedding.scale);
  EXPECT_THAT([] { parse_train_source("a.csv,scale=x"); }, ThrowsCode(Code::kUsage, "scale: "));
  job.data.train_sources = "a.csv,weight=3\nb.csv";
  ASSERT_EQ(train_sources(job.data).size(), 2u);
  EXPECT_EQ(train_sources(job.data)[1].file, "b.csv");
}

}  // namespace
}  // namespace berth
