#include "trainer/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/letter_data.h"
#include "trainer/data/batcher.h"

namespace berth {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class DatasetTest : public testing::Test {
 protected:
  const std::vector<std::string> texts_ = {"abc", "d", "", "zz"};
  const std::vector<int32_t> labels_ = {5, 6, 7, 8};
  LetterTokenizer tokenizer_;
};

TEST_F(DatasetTest, HoldsTheGivenRowsOfATable) {
  const TableData table(table_of(texts_, labels_), tokenizer_, 16);
  const auto data = table.some({1, 3});
  EXPECT_EQ(data->size(), 2);
  EXPECT_TRUE(data->labelled());
  EXPECT_EQ(data->row(1), 3u);
  EXPECT_THAT(data->features(0).classes, ElementsAre(6));
  EXPECT_THAT(data->features(0).input_ids, ElementsAre(1, 6, 2));
  EXPECT_THAT(data->features(1).classes, ElementsAre(8));
  EXPECT_THAT(data->features(1).input_ids, ElementsAre(1, 28, 28, 2));
}

TEST_F(DatasetTest, TokenizesEachRowOnceWhenAskedFor) {
  const TableData table(table_of(texts_), tokenizer_, 16);
  EXPECT_EQ(tokenizer_.calls, 0);
  for (int epoch = 0; epoch < 3; ++epoch) table.dataset->features(2);
  EXPECT_EQ(tokenizer_.calls, 1);
  EXPECT_FALSE(table.dataset->labelled());
}

TEST_F(DatasetTest, EstimatesItsMemoryFromSomeRows) {
  const LetterData few(64), many(6400);
  const size_t of_few = few.dataset->memory_bytes(), of_many = many.dataset->memory_bytes();
  EXPECT_GT(of_few, 64 * (sizeof(Features) + 2 * 3 * sizeof(int32_t)));
  EXPECT_NEAR(static_cast<double>(of_many), 100 * static_cast<double>(of_few),
              10 * static_cast<double>(of_few));
  EXPECT_EQ(many.tokenizer.calls, 64);
}

TEST_F(DatasetTest, HandsThePairAndTheLengthToTheTokenizer) {
  const TableData table(table_of(texts_, {}, {"x", "y", "z", "w"}), tokenizer_, 6);
  EXPECT_THAT(table.dataset->features(0).input_ids, ElementsAre(1, 3, 4, 5, 2, 26));
  EXPECT_THAT(table.dataset->features(0).token_type_ids, ElementsAre(0, 0, 0, 0, 0, 1));
}

TEST_F(DatasetTest, PacksExamplesEndToEnd) {
  const TableData table(table_of(texts_, labels_), tokenizer_, 16);
  const PackedBatch batch = pack(*table.dataset, std::vector<int64_t>{3, 2, 0});
  EXPECT_THAT(batch.input_ids, ElementsAre(1, 28, 28, 2, 1, 2, 1, 3, 4, 5, 2));
  EXPECT_THAT(batch.position_ids, ElementsAre(0, 1, 2, 3, 0, 1, 0, 1, 2, 3, 4));
  EXPECT_THAT(batch.token_type_ids, AllOf(SizeIs(11), Each(0)));
  EXPECT_THAT(batch.cu_seqlens, ElementsAre(0, 4, 6, 11));
  EXPECT_THAT(classes_of(batch), ElementsAre(8, 7, 5));
  EXPECT_THAT(batch.weights, IsEmpty());
  EXPECT_EQ(batch.num_tokens(), 11);
  EXPECT_EQ(batch.num_sequences(), 3);
}

TEST_F(DatasetTest, PacksUnlabelledExamplesWithoutLabels) {
  const TableData table(table_of(texts_), tokenizer_, 16);
  const PackedBatch batch = pack(*table.dataset, std::vector<int64_t>{1});
  EXPECT_TRUE(std::holds_alternative<std::monostate>(batch.labels));
}

TEST_F(DatasetTest, OfATableOnDiskIsTheSame) {
  const LetterData data(100);
  auto spilled = std::make_unique<ExampleTable>(/*memory_bytes=*/200);
  spilled->labelled = true;
  for (uint32_t row = 0; row < 100; ++row) {
    Example example = data.data->table->read(row);
    example.labels = {spilled->labels.entry(std::to_string(data.labels[row]))};
    spilled->append(example);
  }
  spilled->finish();
  ASSERT_TRUE(spilled->spilled());
  const TableData on_disk(std::move(spilled), tokenizer_, 16);
  EXPECT_EQ(on_disk.dataset->shuffled_runs().rows, 100) << "all of them, as they are few";
  for (const int64_t index : {0, 99, 31, 32, 33, 64, 5}) {
    EXPECT_EQ(on_disk.dataset->features(index).input_ids, data.dataset->features(index).input_ids);
    EXPECT_EQ(on_disk.dataset->features(index).classes, data.dataset->features(index).classes);
  }
  const std::atomic<bool> stop = false;
  on_disk.dataset->count_tokens(3, stop);
  for (int64_t index = 0; index < 100; ++index) {
    EXPECT_EQ(on_disk.dataset->length(index), data.dataset->length(index));
  }
  // A row is tokenized once, even if its features are read again after its batch is packed.
  tokenizer_.calls = 0;
  const auto fresh = on_disk.some({10, 11, 12});
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t index = 0; index < 3; ++index) fresh->features(index);
  }
  EXPECT_EQ(tokenizer_.calls, 3);
}

TEST_F(DatasetTest, CountsTokensOnAnyNumberOfThreads) {
  const std::atomic<bool> stop = false;
  for (const int threads : {1, 2, 7}) {
    const LetterData data(100);
    const auto counted = data.data->some(data.all_rows());
    counted->count_tokens(threads, stop);
    EXPECT_EQ(data.tokenizer.calls, 100);
    for (const int64_t index : {0, 1, 50, 99}) {
      EXPECT_EQ(counted->length(index), data.dataset->length(index));
    }
  }
}

}  // namespace
}  // namespace berth
