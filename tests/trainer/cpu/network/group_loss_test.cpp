// Compares the losses of embeddings with values recorded from sentence-transformers
// (tests/record/record_similarity_losses.py), and their gradients with these and with slopes.

#include "trainer/cpu/network/group_loss.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "storage/base/thread_pool.h"
#include "storage/formats/safetensors.h"
#include "storage/local_storage.h"
#include "tests/support/expect_near.h"
#include "tests/support/largest.h"
#include "tests/trainer/cpu/network/recorded_tensors.h"
#include "trainer/cpu/kernels/cpu_kernels.h"

namespace berth {
namespace {

constexpr int64_t kTexts = 12, kHidden = 16;

struct LossCase {
  std::string name;
  int64_t texts;
  std::string labels;  // the recorded tensor
  SimilarityObjective objective;
  bool normalizes = false;
  std::string file = "losses";  // that has the loss and the gradient
};
void PrintTo(const LossCase& test, std::ostream* out) { *out << test.name; }

std::vector<LossCase> loss_cases() {
  using enum SimilarityLoss;
  constexpr EmbeddingDistance kByCosine = EmbeddingDistance::kCosine,
                              kEuclidean = EmbeddingDistance::kEuclidean,
                              kManhattan = EmbeddingDistance::kManhattan;
  const std::vector<NestedSize> nested = {{16, 1}, {7, 0.5}, {4, 0.25}};
  std::vector<LossCase> cases = {
      {"pairs", 2, "", {}},
      {"triplets", 3, "", {}},
      {"two_negatives", 4, "", {.loss = kInBatchNegatives, .scale = 7.5}},
      {"symmetric", 2, "", {.loss = kSymmetric}},
      {"symmetric_negatives", 4, "", {.loss = kSymmetric}},
      {"cosine", 2, "scores", {.loss = kCosine}},
      {"cosent", 2, "scores", {.loss = kCosent}},
      {"cosent_scale", 2, "scores", {.loss = kCosent, .scale = 3}},
      {"angle", 2, "scores", {.loss = kAngle}},
      {"triplet_cosine", 3, "", {.loss = kTriplet, .margin = 0.3, .distance = kByCosine}},
      {"triplet_euclidean", 3, "", {.loss = kTriplet, .margin = 0.3}},
      {"triplet_manhattan", 3, "", {.loss = kTriplet, .margin = 0.3, .distance = kManhattan}},
      {"triplet", 3, "", {.loss = kTriplet}},
      {"triplet_unit", 3, "", {.loss = kTriplet}, true},
      {"contrastive_unit", 2, "marks", {.loss = kContrastive, .margin = 1}, true},
      {"online_alike",
       2,
       "ones",
       {.loss = kOnlineContrastive, .margin = 0.5, .distance = kByCosine}},
      {"online_unlike",
       2,
       "zeros",
       {.loss = kOnlineContrastive, .margin = 0.5, .distance = kByCosine}},
      {"nested_pairs", 2, "", {.nested = nested}},
      {"nested_two_negatives", 4, "", {.nested = nested}},
      {"nested_cosine", 2, "scores", {.nested = nested}},
      {"nested_cosent", 2, "scores", {.loss = kCosent, .nested = nested}},
      {"nested_angle", 2, "scores", {.loss = kAngle, .nested = nested}},
      {"nested_symmetric", 2, "", {.loss = kSymmetric, .nested = nested}},
      {"nested_triplet", 3, "", {.loss = kTriplet, .nested = nested}},
      {"nested_contrastive",
       2,
       "marks",
       {.loss = kContrastive, .margin = 0.5, .distance = kByCosine, .nested = nested}},
      {"nested_online",
       2,
       "marks",
       {.loss = kOnlineContrastive, .margin = 0.5, .distance = kByCosine, .nested = nested}},
  };
  struct Guided {
    std::string name;
    int64_t texts;
    double temperature;
    FalseNegativeRule rule;
    bool anchors = false, positives = false;
  };
  const Guided guided[] = {
      {"guided_pairs", 2, 0.05, {.is_on = true}},
      {"guided_triplets", 3, 0.05, {.is_on = true}},
      {"guided_margin", 3, 0.2, {.is_on = true, .margin = 0.3}},
      {"guided_negative_margin", 2, 0.05, {.is_on = true, .margin = -0.1}},
      {"guided_relative_margin", 3, 0.05, {.is_on = true, .relative_margin = 0.25}},
      {"guided_anchors", 2, 0.05, {.is_on = true}, true, false},
      {"guided_positives", 3, 0.05, {.is_on = true}, false, true},
      {"guided_both", 3, 0.05, {.is_on = true}, true, true},
      {"guided_pairs_other", 2, 0.05, {.is_on = true}},
      {"guided_triplets_other", 3, 0.05, {.is_on = true, .margin = 0.1}},
      {"guided_relative_other", 3, 0.05, {.is_on = true, .relative_margin = 0.05}, false, true},
      {"guided_both_other", 3, 0.1, {.is_on = true, .margin = 0.1}, true, true},
      {"guided_both_pairs_other", 2, 0.05, {.is_on = true, .margin = -0.05}, true, true}};
  for (const Guided& test : guided) {
    const SimilarityObjective objective{.scale = 1 / test.temperature,
                                        .rule = test.rule,
                                        .contrasts_anchors = test.anchors,
                                        .contrasts_positives = test.positives,
                                        .vector_size = test.name.ends_with("other") ? 10 : 0};
    cases.push_back({test.name, test.texts, "", objective, false, "guided"});
  }
  // The scores come from rows, or from the teacher's embeddings.
  const std::tuple<std::string, int64_t, SimilarityObjective> taught[] = {
      {"margin_mse", 3, {.loss = kMarginMse}},
      {"margin_mse_two", 4, {.loss = kMarginMse}},
      {"margin_mse_vectors", 4, {.loss = kMarginMse, .vector_size = kHidden}},
      {"distill_kl", 3, {.loss = kDistillKl, .scale = 1}},
      {"distill_kl_scale", 4, {.loss = kDistillKl, .scale = 0.5, .teacher_scale = 0.5}},
      {"distill_kl_scales", 4, {.loss = kDistillKl, .scale = 0.25, .teacher_scale = 2}},
      {"distill_kl_vectors", 3, {.loss = kDistillKl, .scale = 1, .vector_size = kHidden}},
      {"embedding_mse", 2, {.loss = kEmbeddingMse, .vector_size = kHidden}},
      {"embedding_mse_three", 3, {.loss = kEmbeddingMse, .vector_size = kHidden}},
      {"embedding_cosine", 3, {.loss = kEmbeddingCosine, .vector_size = kHidden}},
      {"nested_margin_mse", 4, {.loss = kMarginMse, .nested = nested}},
      {"nested_distill_kl", 3, {.loss = kDistillKl, .scale = 1, .nested = nested}}};
  for (const auto& [name, texts, objective] : taught) {
    cases.push_back({name, texts, "", objective, false, "taught"});
  }
  const std::pair<std::string, SimilarityLoss> measuring[] = {{"contrastive_", kContrastive},
                                                              {"online_", kOnlineContrastive}};
  for (const auto& [name, loss] : measuring) {
    cases.push_back(
        {name + "cosine", 2, "marks", {.loss = loss, .margin = 0.5, .distance = kByCosine}});
    cases.push_back(
        {name + "euclidean", 2, "marks", {.loss = loss, .margin = 6, .distance = kEuclidean}});
    cases.push_back(
        {name + "manhattan", 2, "marks", {.loss = loss, .margin = 20, .distance = kManhattan}});
  }
  return cases;
}

// The loss alone, of embeddings that a test may change.
struct LossOfEmbeddings {
  LossOfEmbeddings(const LossCase& test, Precision precision)
      : file(map_file(BERTH_TESTDATA "/similarity/losses.safetensors")),
        expected_file(map_file(BERTH_TESTDATA "/similarity/" + test.file + ".safetensors")),
        recorded(*file->view()),
        expected(*expected_file->view()),
        pool(2),
        // Every CPU can emulate bf16.
        kernels(make_cpu_kernels(pool, precision == Precision::kBf16 ? "baseline" : "", precision)),
        memory(1 << 20),
        arena(memory) {
    config.task = test.labels.empty() ? Task::kInBatchNegatives : Task::kSimilarity;
    config.hidden_size = kHidden;
    config.texts_per_row = test.texts;
    config.normalizes_embeddings = test.normalizes;
    config.similarity = test.objective;
    loss = std::make_unique<GroupLoss>(config, *kernels);
    loss->allocate(arena, {.tokens = kTexts, .sequences = kTexts});
    embeddings = arena.make(DType::kF32, {kTexts, kHidden});
    gradients = arena.make(DType::kF32, {kTexts, kHidden});
    copy_in(embeddings, recorded_values<float>(recorded, "embeddings").data());
    batch = {.num_sequences = kTexts, .sequences_per_example = test.texts};
    const int64_t examples = kTexts / test.texts;
    std::vector<float> labels(static_cast<size_t>(examples), test.labels == "ones" ? 1.0f : 0.0f);
    if (test.labels == "scores" || test.labels == "marks") {
      labels = recorded_values<float>(recorded, test.labels);
    }
    targets = arena.make(DType::kF32, {examples});
    copy_in(targets, labels.data());
    if (const int64_t size = test.objective.vector_size; size > 0) {
      batch.text_vectors = arena.make(DType::kF32, {kTexts, size});
      copy_in(batch.text_vectors, recorded_values<float>(expected, "vectors").data());
    } else if (test.objective.loss && learns_scores(*test.objective.loss)) {
      batch.text_scores = arena.make(DType::kF32, {examples, test.texts - 1});
      const std::string scores = "scores_" + std::to_string(test.texts);
      copy_in(batch.text_scores, recorded_values<float>(expected, scores).data());
    }
    set_labelled(true);
  }

  void set_labelled(bool labelled) {
    const bool has_numbers = traits(config.task).has_label_column;
    batch.targets = labelled && has_numbers ? targets : Tensor();
    batch.labels = labelled && !has_numbers ? targets : Tensor();
  }
  // The mean loss. In training, `gradients` are of its sum.
  double compute(bool training) {
    state.begin({});
    const StepContext step{.batch = batch, .state = state, .training = training};
    outputs = loss->compute(step, embeddings, training ? gradients : Tensor());
    return state.examples > 0 ? state.loss_sum / state.examples : 0;
  }
  std::vector<float> values(Tensor tensor) const {
    std::vector<float> copy(static_cast<size_t>(tensor.elements()));
    copy_out(tensor, copy.data());
    return copy;
  }

  std::unique_ptr<RandomAccessSource> file, expected_file;
  SafetensorsReader recorded, expected;
  ThreadPool pool;
  std::unique_ptr<Kernels> kernels;
  ModelConfig config;
  Memory memory;
  Arena arena;
  std::unique_ptr<GroupLoss> loss;
  BatchTensors batch;
  StepState state;
  Tensor embeddings, gradients, targets, outputs;
};

class GroupLosses : public testing::TestWithParam<std::tuple<LossCase, Precision>> {};

TEST_P(GroupLosses, LossAndGradientsAreThoseOfSentenceTransformers) {
  const auto& [test, precision] = GetParam();
  LossOfEmbeddings of(test, precision);
  const double expected = double{recorded_values<float>(of.expected, test.name + ".loss")[0]};
  const double loss = of.compute(/*training=*/true);
  EXPECT_NEAR(loss, expected, 1e-5 * std::max(1.0, expected));
  EXPECT_EQ(of.state.examples, static_cast<double>(kTexts / test.texts));
  std::vector<float> gradients = of.values(of.gradients);
  for (float& value : gradients) value /= static_cast<float>(of.state.examples);
  const std::vector<float> expected_gradients =
      recorded_values<float>(of.expected, test.name + ".grad");
  expect_near(gradients, expected_gradients,
              1e-4 * std::max(1e-3, double{largest(expected_gradients)}), test.name);
  EXPECT_NEAR(of.compute(/*training=*/false), loss, 1e-6 * std::max(1.0, loss));
}

TEST_P(GroupLosses, GradientsAreSlopes) {
  const auto& [test, precision] = GetParam();
  LossOfEmbeddings of(test, precision);
  of.compute(/*training=*/true);
  const std::vector<float> gradients = of.values(of.gradients);
  const double most = std::max(1.0, double{largest(gradients)});
  float* const x = of.embeddings.f32();
  for (size_t i = 0; i < gradients.size(); i += 5) {
    const float before = x[i];
    constexpr float kStep = 1e-3f;
    x[i] = before + kStep;
    of.compute(false);
    const double above = of.state.loss_sum, high = double{x[i]};
    x[i] = before - kStep;
    of.compute(false);
    const double below = of.state.loss_sum, low = double{x[i]};
    x[i] = before;
    ASSERT_NEAR(gradients[i], (above - below) / (high - low), 5e-3 * most) << i;
  }
}

TEST_P(GroupLosses, ARowWithoutALabelHasOutputsAndNoLoss) {
  const auto& [test, precision] = GetParam();
  LossOfEmbeddings of(test, precision);
  of.compute(false);
  const std::vector<float> labelled = of.values(of.outputs);
  const auto columns = static_cast<size_t>(of.outputs.columns());
  of.set_labelled(false);
  of.compute(false);
  EXPECT_EQ(of.state.examples, 0);
  const std::vector<float> unlabelled = of.values(of.outputs);
  const auto own = static_cast<size_t>(of.outputs.columns());
  EXPECT_EQ(own, test.labels.empty() ? 2u : 1u);
  for (size_t i = 0; i < unlabelled.size(); ++i) {  // labelled rows may have shorter sizes behind
    EXPECT_EQ(unlabelled[i], labelled[i / own * columns + i % own]) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GroupLosses,
                         testing::Combine(testing::ValuesIn(loss_cases()),
                                          testing::Values(Precision::kFp32, Precision::kBf16)),
                         [](const testing::TestParamInfo<std::tuple<LossCase, Precision>>& test) {
                           return std::get<LossCase>(test.param).name + "_" +
                                  std::string(name_of(std::get<Precision>(test.param)));
                         });

TEST(GroupLoss, LeavesOutFalseNegatives) {
  FalseNegativeRule rule{.is_on = true, .margin = 0.1};
  EXPECT_NEAR(rule.threshold(0.8), 0.7, 1e-12);
  rule = {.is_on = true, .relative_margin = 0.25};
  EXPECT_NEAR(rule.threshold(0.8), 0.6, 1e-12);
  EXPECT_NEAR(rule.threshold(-0.8), -1.0, 1e-12);
  // A margin that leaves out all others leaves nothing to learn.
  LossOfEmbeddings none({"all", 2, "", {.rule = {.is_on = true, .margin = 2}}}, Precision::kFp32);
  EXPECT_EQ(none.compute(/*training=*/true), 0);
  EXPECT_EQ(largest(none.values(none.gradients)), 0);
  // What was found does not depend on the rule.
  LossOfEmbeddings plain({"pairs", 2, "", {}}, Precision::kFp32);
  plain.compute(false);
  none.compute(false);
  EXPECT_EQ(none.values(none.outputs), plain.values(plain.outputs));
}

// A text of another row that equals the partner counts as found, although rounding makes them
// differ.
TEST(GroupLoss, FindsATextThatOtherRowsHaveToo) {
  LossOfEmbeddings pairs({"pairs", 2, "", {}}, Precision::kFp32);
  float* const x = pairs.embeddings.f32();
  for (int64_t h = 0; h < kHidden; ++h) {
    x[h] = x[kHidden + h] + 0.5f * x[h];                 // the first row finds its text
    x[3 * kHidden + h] = x[kHidden + h] + 2e-6f * x[h];  // which the second row has, too
  }
  const auto first_is_found = [&] {
    pairs.compute(/*training=*/false);
    return pairs.values(pairs.outputs)[1];
  };
  EXPECT_EQ(first_is_found(), 1);
  std::copy_n(x, kHidden, x + 3 * kHidden);  // a text that is nearer
  EXPECT_EQ(first_is_found(), 0);
}

// Labels score the cosines of each size, from one pass.
TEST(GroupLoss, ComparesEachSizeOfLabelledRows) {
  const std::vector<NestedSize> sizes = {{kHidden, 1}, {7, 0.5}, {4, 0.25}};
  LossOfEmbeddings nested(
      {"cosent", 2, "scores", {.loss = SimilarityLoss::kCosent, .nested = sizes}},
      Precision::kFp32);
  nested.compute(/*training=*/false);
  ASSERT_EQ(nested.outputs.columns(), 3);
  const std::vector<float> all = nested.values(nested.outputs);
  for (size_t column = 0; column < sizes.size(); ++column) {
    const int64_t size = sizes[column].size;
    LossOfEmbeddings part({"cosine", 2, "scores", {.nested = {{size, 1}}, .compared_size = size}},
                          Precision::kFp32);
    part.compute(/*training=*/false);
    const std::vector<float> alone = part.values(part.outputs);
    ASSERT_EQ(alone.size(), all.size() / 3);
    for (size_t b = 0; b < alone.size(); ++b) EXPECT_NEAR(all[3 * b + column], alone[b], 1e-6);
  }
  nested.compute(/*training=*/true);
  EXPECT_EQ(nested.outputs.columns(), 1);
}

// Rows to train on have the loss of their own texts, also where rows to evaluate on have more.
TEST(GroupLoss, RowsMayHaveFewerTextsThanOthers) {
  const LossCase pairs{"pairs", 2, "", {}};
  LossOfEmbeddings alone(pairs, Precision::kFp32), beside(pairs, Precision::kFp32);
  beside.config.fewest_texts_per_row = 2;
  beside.config.texts_per_row = 6;
  beside.loss = std::make_unique<GroupLoss>(beside.config, *beside.kernels);
  Memory memory(1 << 20);
  Arena arena(memory);
  beside.loss->allocate(arena, {.tokens = 2 * kTexts, .sequences = 2 * kTexts});
  EXPECT_EQ(beside.compute(/*training=*/true), alone.compute(/*training=*/true));
  EXPECT_EQ(beside.values(beside.gradients), alone.values(alone.gradients));
}

// The rows of a source have the loss of a job that has this source alone.
TEST(GroupLoss, EachSourceHasItsObjective) {
  using enum SimilarityLoss;
  const LossCase ranking{"pairs", 2, "", {.loss = kInBatchNegatives}},
      cosent{"cosent", 2, "scores", {.loss = kCosent}}, cosine{"cosine", 2, "scores", {}},
      triplet{"triplet", 3, "", {.loss = kTriplet}};
  LossOfEmbeddings mixed({"triplets", 3, "", {}}, Precision::kFp32);
  mixed.config.sources = {
      ranking.objective, cosent.objective, {.loss = kCosine}, triplet.objective};
  mixed.loss = std::make_unique<GroupLoss>(mixed.config, *mixed.kernels);
  Memory memory(1 << 20);
  Arena arena(memory);
  mixed.loss->allocate(arena, {.tokens = 2 * kTexts, .sequences = 2 * kTexts});
  int32_t source = 0;
  for (const LossCase& test : {ranking, cosent, cosine, triplet}) {
    LossOfEmbeddings alone(test, Precision::kFp32);
    const double expected = alone.compute(/*training=*/true);
    const int64_t examples = kTexts / test.texts;
    std::vector<float> zeros(static_cast<size_t>(examples));
    Memory labels_memory(1 << 12);
    Arena labels(labels_memory);
    mixed.batch.labels = labels.make(DType::kF32, {examples});
    mixed.batch.targets = {};
    mixed.batch.text_scores = test.labels.empty() ? Tensor() : alone.targets;
    mixed.batch.sequences_per_example = test.texts;
    mixed.batch.source = source++;
    copy_in(mixed.embeddings, alone.values(alone.embeddings).data());
    EXPECT_EQ(mixed.compute(/*training=*/true), expected) << test.name;
    EXPECT_EQ(mixed.values(mixed.gradients), alone.values(alone.gradients)) << test.name;
  }
}

// The loss of a part is the loss of a model whose embeddings are that part.
TEST(GroupLoss, ComparesTheFirstNumbersAlone) {
  const LossCase whole{"cosine", 2, "scores", {.nested = {{4, 1}}, .compared_size = 4}};
  LossOfEmbeddings part(whole, Precision::kFp32), other(whole, Precision::kFp32);
  for (int64_t i = 0; i < kTexts * kHidden; ++i) {
    if (i % kHidden >= 4) other.embeddings.f32()[i] = 0;
  }
  const double loss = part.compute(false);
  EXPECT_NEAR(loss, other.compute(false), 1e-7);
  expect_near(part.values(part.outputs), other.values(other.outputs), 1e-6, "cosines");
  const LossCase all{"cosine", 2, "scores", {}};
  LossOfEmbeddings full(all, Precision::kFp32);
  EXPECT_GT(std::abs(full.compute(false) - loss), 1e-3);
}

}  // namespace
}  // namespace berth
