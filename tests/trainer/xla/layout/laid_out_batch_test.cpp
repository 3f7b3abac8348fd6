#include "trainer/xla/layout/laid_out_batch.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

// Sequences of 3, 16 and 8 tokens, for rows of 16 columns: the first row has the second, the second
// row has the third and the first.
PackedBatch three_sequences() {
  PackedBatch batch;
  batch.cu_seqlens = {0, 3, 19, 27};
  for (int32_t t = 0; t < 27; ++t) {
    batch.input_ids.push_back(100 + t);
    batch.token_type_ids.push_back(t % 2);
    batch.position_ids.push_back(t < 3 ? t : t < 19 ? t - 3 : t - 19);
  }
  batch.first_token = 1000;
  batch.first_sequence = 50;
  return batch;
}

ModelConfig config_for(Task task) {
  ModelConfig config;
  config.task = task;
  config.labels = {"a", "b", "c"};
  return config;
}

constexpr BatchShape kShape{.rows = 3, .row_length = 16, .sequences = 4, .masked = 5};

LaidOutBatch laid_out(const PackedBatch& batch, Task task, BatchShape shape = kShape,
                      int64_t replicas = 1) {
  return lay_out(batch, config_for(task), {&shape, 1}, replicas);
}

std::vector<int32_t> numbers(const HostTensor& tensor) {
  return {tensor.words.begin(), tensor.words.end()};
}
std::vector<float> floats(const HostTensor& tensor) {
  std::vector<float> values;
  for (const uint32_t word : tensor.words) values.push_back(std::bit_cast<float>(word));
  return values;
}

TEST(LaidOutBatch, TokensLieInRows) {
  const LaidOutBatch out = laid_out(three_sequences(), Task::kSequenceClassification);
  const auto& inputs = out.replicas.at(0);
  const std::vector<int32_t> ids = numbers(inputs.at("input_ids"));
  ASSERT_EQ(ids.size(), 48u);
  for (int32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(ids[static_cast<size_t>(i)], 103 + i);
    EXPECT_EQ(ids[static_cast<size_t>(16 + i)], i < 8 ? 119 + i : i < 11 ? 100 + i - 8 : 0);
    EXPECT_EQ(ids[static_cast<size_t>(32 + i)], 0);
  }
  EXPECT_EQ(inputs.at("input_ids").dimensions, (std::vector<int64_t>{3, 16}));
}

TEST(LaidOutBatch, TokensAndSequencesKeepTheirNumbers) {
  const LaidOutBatch out = laid_out(three_sequences(), Task::kSequenceClassification);
  const auto& inputs = out.replicas.at(0);
  const std::vector<int32_t> tokens = numbers(inputs.at("token_number")),
                             places = numbers(inputs.at("place")),
                             segments = numbers(inputs.at("segment"));
  EXPECT_EQ(tokens[0], 1003);
  EXPECT_EQ(tokens[16], 1019);
  EXPECT_EQ(tokens[24], 1000);
  EXPECT_EQ(places[26], 2);
  EXPECT_EQ(places[27], 0);
  EXPECT_EQ(segments[16], 2);
  EXPECT_EQ(segments[26], 0);
  EXPECT_EQ(segments[27], -1);
  EXPECT_THAT(numbers(inputs.at("sequence_number")), ElementsAre(50, 51, 52, 0));
  EXPECT_THAT(numbers(inputs.at("first_token")), ElementsAre(24, 0, 16, 0));
}

TEST(LaidOutBatch, RobertaCountsPositionsFromItsPadding) {
  PackedBatch batch = three_sequences();
  batch.input_ids[1] = 1;
  ModelConfig config = config_for(Task::kSequenceClassification);
  config.type = ModelType::kRoberta;
  config.pad_token_id = 1;
  const LaidOutBatch out = lay_out(batch, config, {&kShape, 1});
  const std::vector<int32_t> positions = numbers(out.replicas[0].at("position_ids"));
  EXPECT_EQ(positions[0], 2);
  EXPECT_EQ(positions[24], 2);
  EXPECT_EQ(positions[25], 1);
  EXPECT_EQ(positions[26], 3);
}

TEST(LaidOutBatch, ClassesAndTheirWeights) {
  PackedBatch batch = three_sequences();
  batch.labels = PackedBatch::Classes{2, 0, 1};
  batch.weights = {1, 0.5f, 2};
  const auto inputs = laid_out(batch, Task::kSequenceClassification).replicas.at(0);
  EXPECT_THAT(numbers(inputs.at("labels")), ElementsAre(2, 0, 1, -1));
  EXPECT_THAT(floats(inputs.at("weights")), ElementsAre(1, 0.5f, 2, 0));
}

TEST(LaidOutBatch, NumbersAndSets) {
  PackedBatch batch = three_sequences();
  batch.labels = PackedBatch::Scores{{0.5f, -1, 3}};
  EXPECT_THAT(floats(laid_out(batch, Task::kRegression).replicas[0].at("labels")),
              ElementsAre(0.5f, -1, 3, 0));
  batch.labels = PackedBatch::ClassSets{{1, 0, 0, 0, 1, 0, 0, 0, 1}};
  const auto inputs = laid_out(batch, Task::kMultiLabel).replicas.at(0);
  EXPECT_THAT(floats(inputs.at("labels")), ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0));
  EXPECT_THAT(floats(inputs.at("weights")), ElementsAre(1, 1, 1, 0));
}

TEST(LaidOutBatch, TagsLieAtTheirTokens) {
  PackedBatch batch = three_sequences();
  batch.labels = PackedBatch::TokenClasses{std::vector<int32_t>(27, -1)};
  std::get<PackedBatch::TokenClasses>(batch.labels).classes[1] = 2;
  const auto inputs = laid_out(batch, Task::kTokenClassification).replicas.at(0);
  const std::vector<int32_t> labels = numbers(inputs.at("labels"));
  EXPECT_EQ(labels[25], 2);
  EXPECT_EQ(std::count(labels.begin(), labels.end(), -1), 47);
  EXPECT_EQ(floats(inputs.at("weights"))[27], 0);
}

TEST(LaidOutBatch, VectorsLieAtTheirTokens) {
  PackedBatch batch = three_sequences();
  std::vector<float> vectors;
  for (int32_t t = 0; t < 27; ++t) {
    vectors.push_back(static_cast<float>(t));
    vectors.push_back(-0.5f);
  }
  batch.labels = PackedBatch::Scores{vectors};
  ModelConfig config = config_for(Task::kHiddenStateDistillation);
  config.vector_size = 2;
  const auto inputs = lay_out(batch, config, {&kShape, 1}).replicas.at(0);
  EXPECT_THAT(inputs.at("labels").dimensions, ElementsAre(3, 16, 2));
  const std::vector<float> labels = floats(inputs.at("labels"));
  EXPECT_EQ(labels[2 * 25], 1);  // the second token of the sequence that begins in column 24
  EXPECT_EQ(labels[2 * 25 + 1], -0.5f);
  EXPECT_EQ(labels[0], 3);
  const std::vector<float> weights = floats(inputs.at("weights"));
  EXPECT_EQ(std::count(weights.begin(), weights.end(), 1.0f), 27);
  EXPECT_EQ(weights[25], 1);
  EXPECT_EQ(weights[27], 0);
}

TEST(LaidOutBatch, AnswersArePlacesInTheRows) {
  PackedBatch batch = three_sequences();
  batch.labels = PackedBatch::Answers{{1, -1, 19}, {2, -1, 26}};
  const auto inputs = laid_out(batch, Task::kQuestionAnswering).replicas.at(0);
  EXPECT_THAT(numbers(inputs.at("labels")), ElementsAre(25, -1, 16, -1));
  EXPECT_THAT(numbers(inputs.at("ends")), ElementsAre(26, -1, 23, -1));
}

TEST(LaidOutBatch, MaskedTokensAndTheirLogits) {
  PackedBatch batch = three_sequences();
  batch.labels = PackedBatch::MaskedTokens{{0, 4, 20}, {7, 8, 9}};
  const LaidOutBatch out = laid_out(batch, Task::kMaskedLm);
  const auto& inputs = out.replicas.at(0);
  EXPECT_THAT(numbers(inputs.at("masked")), ElementsAre(24, 1, 17, 0, 0));
  EXPECT_THAT(numbers(inputs.at("labels")), ElementsAre(7, 8, 9, -1, -1));
  EXPECT_THAT(out.logit_rows, ElementsAre(0, 1, 2));
}

TEST(LaidOutBatch, WithoutLabelsThereIsNoLoss) {
  for (const TaskTraits& task : task_table()) {
    SCOPED_TRACE(task.names[0]);
    const auto inputs = laid_out(three_sequences(), task.task).replicas.at(0);
    if (!inputs.contains("weights")) continue;  // of embeddings and hidden states
    for (const float weight : floats(inputs.at("weights"))) EXPECT_EQ(weight, 0);
  }
}

TEST(LaidOutBatch, AnEmptyBatchIsAllPadding) {
  const LaidOutBatch out = laid_out({}, Task::kTokenClassification);
  for (const int32_t segment : numbers(out.replicas[0].at("segment"))) EXPECT_EQ(segment, -1);
  EXPECT_TRUE(out.logit_rows.empty());
}

TEST(LaidOutBatch, EveryInputOfTheProgramsIsThere) {
  PackedBatch batch = three_sequences();
  for (const TaskTraits& task : task_table()) {
    SCOPED_TRACE(task.names[0]);
    const LaidOutBatch out = laid_out(batch, task.task);
    stablehlo::Graph graph;
    for (const auto& [name, value] : batch_inputs(graph, config_for(task.task), kShape).in_order) {
      SCOPED_TRACE(name);
      const HostTensor& tensor = out.replicas[0].at(name);
      EXPECT_EQ(tensor.dimensions, value.shape());
      EXPECT_EQ(static_cast<int64_t>(tensor.words.size()), value.type().elements());
      const auto element = value.type().element;
      EXPECT_EQ(tensor.dtype, element == stablehlo::ElementType::kF32   ? DType::kF32
                              : element == stablehlo::ElementType::kU32 ? DType::kU32
                                                                        : DType::kI32);
    }
  }
}

TEST(LaidOutBatch, ReplicasTakeTheRowsInTurn) {
  const BatchShape shape{.rows = 1, .row_length = 16, .sequences = 2};
  PackedBatch batch = three_sequences();
  batch.labels = PackedBatch::Classes{2, 0, 1};
  const LaidOutBatch out = laid_out(batch, Task::kSequenceClassification, shape, 2);
  EXPECT_THAT(numbers(out.replicas.at(0).at("sequence_number")), ElementsAre(51, 0));
  EXPECT_THAT(numbers(out.replicas.at(1).at("sequence_number")), ElementsAre(50, 52));
  EXPECT_THAT(numbers(out.replicas.at(1).at("first_token")), ElementsAre(8, 0));
  EXPECT_THAT(numbers(out.replicas.at(1).at("labels")), ElementsAre(2, 1));
  EXPECT_THAT(out.logit_rows, ElementsAre(2, 0, 3));
}

TEST(LaidOutBatch, LogitsReturnToTheOrderOfTheBatch) {
  const LaidOutBatch out = laid_out(three_sequences(), Task::kTokenClassification);
  std::vector<float> stacked(48 * 2);
  for (size_t i = 0; i < stacked.size(); ++i) stacked[i] = static_cast<float>(i);
  const std::vector<float> packed = packed_order(stacked, out.logit_rows, 2);
  ASSERT_EQ(packed.size(), 27u * 2);
  EXPECT_EQ(packed[0], 48);  // token 0 is at 24
  EXPECT_EQ(packed[1], 49);
  EXPECT_EQ(packed[6], 0);  // token 3 is at 0
  EXPECT_EQ(std::set<float>(packed.begin(), packed.end()).size(), packed.size());
}

std::vector<int32_t> ends_of(const std::vector<int32_t>& lengths) {
  std::vector<int32_t> ends = {0};
  for (const int32_t length : lengths) ends.push_back(ends.back() + length);
  return ends;
}

TEST(RowPacking, ShortSequencesFillTheRowsOfLongOnes) {
  const RowPacking packing = pack_rows(ends_of({3, 24, 16, 8}), 24);
  EXPECT_EQ(packing.rows, 3);
  EXPECT_EQ(packing.row, (std::vector<int32_t>{2, 0, 1, 1}));
  EXPECT_EQ(packing.column, (std::vector<int32_t>{0, 0, 0, 16}));
}

TEST(RowPacking, ARowOfEqualSequencesIsFull) {
  const RowPacking packing = pack_rows(ends_of({13, 13, 13, 13}), 32);
  EXPECT_EQ(packing.rows, 2);
  EXPECT_EQ(packing.column, (std::vector<int32_t>{0, 16, 0, 16}));
}

TEST(RowPacking, NoSequencesTakeNoRow) { EXPECT_EQ(pack_rows(ends_of({}), 8).rows, 0); }

TEST(RowPacking, ASequenceLongerThanARowIsABug) {
  EXPECT_THAT([] { pack_rows(ends_of({9}), 8); }, ThrowsCode(Code::kInternal));
}

TEST(RowPacking, SequencesDoNotOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<int32_t> lengths(1 + random() % 60);
    for (int32_t& length : lengths) length = 1 + static_cast<int32_t>(random() % 40);
    const RowPacking packing = pack_rows(ends_of(lengths), 40);
    std::vector<int> taken(static_cast<size_t>(packing.rows) * 40);
    for (size_t b = 0; b < lengths.size(); ++b) {
      ASSERT_EQ(packing.column[b] % 8, 0);
      ASSERT_LE(packing.column[b] + lengths[b], 40);
      for (int32_t i = 0; i < lengths[b]; ++i) {
        ASSERT_EQ(taken[static_cast<size_t>(packing.row[b] * 40 + packing.column[b] + i)]++, 0);
      }
    }
  }
}

TEST(Shapes, RowsHaveTheLongestSequence) {
  const BatchLimits many{.tokens = 65536, .sequences = 1000};
  EXPECT_EQ(row_length_for(many, 512, 1), 512);
  EXPECT_EQ(row_length_for(many, 65, 1), 72);
  EXPECT_EQ(row_length_for(many, 1, 1), 128);
  EXPECT_EQ(row_length_for(many, 40, 1), 120);
}

TEST(Shapes, EveryReplicaHasRows) {
  const BatchLimits limits{.tokens = 512, .sequences = 32};
  EXPECT_EQ(row_length_for(limits, 16, 1), 128);
  EXPECT_EQ(row_length_for(limits, 16, 2), 64);
  EXPECT_EQ(row_length_for(limits, 16, 16), 16);
}

TEST(Shapes, ThereAreSixAtMostAndTheyGrow) {
  const auto shapes = batch_shapes({.tokens = 32 * 128, .sequences = 32}, 128, 1);
  std::vector<int64_t> rows;
  rows.reserve(shapes.size());
  for (const BatchShape& shape : shapes) rows.push_back(shape.rows);
  EXPECT_EQ(rows, (std::vector<int64_t>{8, 12, 16, 20, 24, 32}));
  EXPECT_EQ(shapes.back().sequences, 32);
  EXPECT_EQ(shapes.front().row_length, 128);
}

TEST(Shapes, OfATokenBudgetAreALittleLargerThanFullRows) {
  const auto shapes = batch_shapes({.tokens = 4096, .sequences = 1000}, 128, 1);
  ASSERT_EQ(shapes.size(), 6u);
  EXPECT_EQ(shapes[1].rows, 32);
  EXPECT_EQ(shapes[2].rows, 36);
  EXPECT_EQ(full_rows({.tokens = 4096, .sequences = 1000}, 128, 4), 8);
}

TEST(Shapes, OneRowIsOneShape) {
  const auto shapes = batch_shapes({.tokens = 8, .sequences = 1}, 8, 1);
  ASSERT_EQ(shapes.size(), 1u);
  EXPECT_EQ(shapes[0], (BatchShape{.rows = 1, .row_length = 8, .sequences = 1, .masked = 8}));
}

TEST(Shapes, ReplicasShareTheRowsAndTheMaskedTokens) {
  const auto shapes = batch_shapes({.tokens = 32 * 128, .sequences = 32, .masked = 600}, 128, 4);
  EXPECT_EQ(shapes.back().rows, 8);
  EXPECT_EQ(shapes.back().masked, 600);
  EXPECT_EQ(shapes[shapes.size() - 2].masked, 225);
}

TEST(Shapes, TheSmallestThatHasRoomIsTaken) {
  const std::vector<BatchShape> shapes = {{.rows = 1, .row_length = 8, .sequences = 1},
                                          {.rows = 4, .row_length = 8, .sequences = 4}};
  EXPECT_EQ(smallest_shape(shapes, {.rows = 1, .sequences = 1}).rows, 1);
  EXPECT_EQ(smallest_shape(shapes, {.rows = 1, .sequences = 2}).rows, 4);
  EXPECT_THAT([&] { smallest_shape(shapes, {.rows = 5}); }, ThrowsCode(Code::kInternal));
}

// Batches of a token budget, whose sequences are as long as chance makes them.
TEST(Shapes, EveryBatchWithinTheLimitsFitsTheLargest) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const int32_t longest = 1 + static_cast<int32_t>(random() % 200);
    const int32_t shortest = 1 + static_cast<int32_t>(random() % static_cast<uint32_t>(longest));
    const BatchLimits limits{.tokens = 2000, .sequences = 100};
    std::vector<int32_t> ends = {0};
    while (static_cast<int64_t>(ends.size()) <= limits.sequences) {
      const auto spread = static_cast<uint32_t>(longest - shortest + 1);
      const int32_t end = ends.back() + shortest + static_cast<int32_t>(random() % spread);
      if (end > limits.tokens) break;
      ends.push_back(end);
    }
    const int64_t rows = pack_rows(ends, row_length_for(limits, longest, 1)).rows;
    const auto shapes = batch_shapes(limits, longest, 1);
    ASSERT_LE(rows, shapes.back().rows) << longest << " " << shortest;
    ASSERT_LE(shapes.size(), 6u);
    ASSERT_GE(shapes.back().sequences, static_cast<int64_t>(ends.size()) - 1);
  }
}

}  // namespace
}  // namespace berth
