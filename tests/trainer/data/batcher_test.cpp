#include "trainer/data/batcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/support/letter_data.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class BatcherTest : public testing::Test {
 protected:
  UpdateBatch next(const BatchOptions& options, DataCursor cursor = {}) {
    return Batcher(options, *data_.dataset).next(cursor);
  }
  // The ids of all texts of an update, whatever its micro-batches.
  static std::vector<int32_t> ids(const UpdateBatch& update) {
    std::vector<int32_t> all;
    for (const PackedBatch& batch : update.micro_batches) {
      all.insert(all.end(), batch.input_ids.begin(), batch.input_ids.end());
    }
    return all;
  }

  static std::vector<std::vector<int32_t>> texts(const UpdateBatch& update) {
    std::vector<std::vector<int32_t>> all;
    for (const PackedBatch& batch : update.micro_batches) {
      for (size_t b = 1; b < batch.cu_seqlens.size(); ++b) {
        all.emplace_back(batch.input_ids.begin() + batch.cu_seqlens[b - 1],
                         batch.input_ids.begin() + batch.cu_seqlens[b]);
      }
    }
    return all;
  }

  LetterData data_{10};
};

TEST_F(BatcherTest, AnUpdateIsOneBatchUnlessCut) {
  const UpdateBatch update = next({.batch_size = 4});
  ASSERT_THAT(update.micro_batches, SizeIs(1));
  EXPECT_EQ(update.examples, 4);
  EXPECT_EQ(update.micro_batches[0].num_sequences(), 4);
  EXPECT_EQ(update.tokens, update.micro_batches[0].num_tokens());
  EXPECT_EQ(update.after, (DataCursor{.epoch = 0, .block = 0, .index = 4}));
}

// A data set of a masked language model over texts of ten letters.
class MaskedBatches : public testing::Test {
 protected:
  MaskedBatches() { data_.mask_with(masking_); }

  static std::vector<std::string> ten_letters() {
    return std::vector<std::string>(20, "abcdefghij");
  }
  // The batches of one epoch, laid end to end.
  PackedBatch epoch(int64_t number, int64_t batch_size, int64_t micro_batches = 1) {
    Batcher batcher({.batch_size = batch_size, .micro_batches = micro_batches}, data_);
    PackedBatch all;
    PackedBatch::MaskedTokens masked;
    for (DataCursor cursor{.epoch = number}; cursor.epoch == number;) {
      const UpdateBatch update = batcher.next(cursor);
      for (const PackedBatch& part : update.micro_batches) {
        const auto& some = std::get<PackedBatch::MaskedTokens>(part.labels);
        for (const int32_t token : some.tokens) {
          masked.tokens.push_back(token + static_cast<int32_t>(all.input_ids.size()));
        }
        masked.ids.insert(masked.ids.end(), some.ids.begin(), some.ids.end());
        all.input_ids.insert(all.input_ids.end(), part.input_ids.begin(), part.input_ids.end());
      }
      cursor = update.after;
    }
    all.labels = masked;
    return all;
  }

  LetterTokenizer tokenizer_;
  const Masking masking_{tokenizer_, {.probability = 0.3}};
  const std::unique_ptr<ExampleTable> table_ = table_of(ten_letters());
  const std::unique_ptr<FeatureMaker> maker_ =
      make_text_features({.max_seq_length = 20, .labelled = false}, tokenizer_);
  std::vector<uint32_t> rows_ = [] {
    std::vector<uint32_t> all(20);
    std::iota(all.begin(), all.end(), 0u);
    return all;
  }();
  Dataset data_{*table_, rows_, Task::kMaskedLm, *maker_, false};
};

TEST_F(MaskedBatches, LabelsAreTheIdsThatWereHidden) {
  const PackedBatch batch = pack(data_, std::vector<int64_t>{4, 0});
  const auto& masked = std::get<PackedBatch::MaskedTokens>(batch.labels);
  ASSERT_THAT(masked.tokens, SizeIs(6));
  const std::vector<int32_t> text = data_.features(0).input_ids;
  for (size_t m = 0; m < 6; ++m) {
    EXPECT_EQ(masked.ids[m], text[static_cast<size_t>(masked.tokens[m]) % text.size()]);
  }
  EXPECT_THAT(batch.input_ids, Contains(0));  // [MASK]
  EXPECT_THAT(text, Not(Contains(0)));        // the features stay as they are
  EXPECT_THAT(batch.weights, IsEmpty());
}

TEST_F(MaskedBatches, DependOnTheEpochAndNotOnHowItIsCut) {
  const PackedBatch first = epoch(0, 4);
  EXPECT_EQ(epoch(0, 7).input_ids, first.input_ids);
  EXPECT_EQ(epoch(0, 10, 3).input_ids, first.input_ids);
  EXPECT_EQ(epoch(0, 7).labels, first.labels);
  EXPECT_NE(epoch(1, 4).labels, first.labels);
  EXPECT_THAT(std::get<PackedBatch::MaskedTokens>(first.labels).tokens, SizeIs(60));
}

// The features of two words, of which one weighs more.
class WeighedWords final : public FeatureMaker {
 public:
  std::vector<Features> make(const Example&) const override {
    return {{.input_ids = {1, 2},
             .token_type_ids = {0, 0},
             .classes = {0, 1},
             .weight = 3,
             .token_weights = {1.5f, 6}}};
  }
};

TEST(Pack, WordsHaveTheWeightsOfTheirTags) {
  const auto table = table_of({"a", "b"});
  const WeighedWords maker;
  Dataset data(*table, {0, 1}, Task::kTokenClassification, maker, true);
  EXPECT_THAT(pack(data, std::vector<int64_t>{0, 1}).weights, ElementsAre(1.5f, 6, 1.5f, 6));
  EXPECT_TRUE(has_any_label(data));
}

TEST_F(BatcherTest, SkippedDataIsPassedOver) {
  const DataCursor start{}, second{.index = 4}, third{.index = 8};
  Batcher batcher({.batch_size = 4, .skipped = {{start, second}, {second, third}}}, *data_.dataset);
  const UpdateBatch update = batcher.next(start);
  EXPECT_EQ(update.begin, third);
  EXPECT_EQ(update.after, (DataCursor{.epoch = 1}));
  EXPECT_EQ(update.examples, 2);
}

TEST_F(BatcherTest, SkippedExamplesAreInNoLaterEpoch) {
  const DataCursor start{}, second{.index = 4};
  Batcher all({.batch_size = 4}, *data_.dataset);
  const std::vector<std::vector<int32_t>> skipped = texts(all.next(start));
  for (const int64_t batch_size : {4, 6}) {
    Batcher batcher({.batch_size = batch_size, .skipped = {{start, second}}}, *data_.dataset);
    DataCursor cursor{.epoch = 1};
    for (int64_t left = 3 * 6; left > 0;) {
      const UpdateBatch update = batcher.next(cursor);
      ASSERT_GT(update.examples, 0);
      ASSERT_LE(update.examples, left);
      for (const auto& text : texts(update)) EXPECT_THAT(skipped, Not(Contains(text)));
      left -= update.examples;
      cursor = update.after;
    }
  }
}

TEST_F(BatcherTest, WhenAllIsSkippedLaterEpochsStillHaveIt) {
  Batcher batcher({.batch_size = 10, .skipped = {{{}, {.epoch = 1}}}}, *data_.dataset);
  const UpdateBatch update = batcher.next({});
  EXPECT_EQ(update.examples, 10);
  EXPECT_EQ(update.after, (DataCursor{.epoch = 2}));
}

TEST_F(BatcherTest, UpdatesNeverSpanEpochs) {
  Batcher batcher({.batch_size = 4}, *data_.dataset);
  DataCursor cursor;
  std::vector<int64_t> sizes;
  for (int i = 0; i < 6; ++i) {
    const UpdateBatch update = batcher.next(cursor);
    sizes.push_back(update.examples);
    cursor = update.after;
  }
  EXPECT_THAT(sizes, ElementsAre(4, 4, 2, 4, 4, 2));
  EXPECT_EQ(cursor, (DataCursor{.epoch = 2}));
}

TEST_F(BatcherTest, TheRemainderMayBeDropped) {
  Batcher batcher({.batch_size = 4, .drop_remainder = true}, *data_.dataset);
  DataCursor cursor;
  std::vector<int64_t> epochs;
  for (int i = 0; i < 5; ++i) {
    const UpdateBatch update = batcher.next(cursor);
    EXPECT_EQ(update.examples, 4);
    cursor = update.after;
    epochs.push_back(cursor.epoch);
  }
  EXPECT_THAT(epochs, ElementsAre(0, 1, 1, 2, 2));  // an epoch ends before its remainder
  Batcher whole({.batch_size = 16, .drop_remainder = true}, *data_.dataset);
  EXPECT_EQ(whole.next({}).examples, 10);
}

TEST_F(BatcherTest, SkippedExamplesDoNotChangeWhatIsARemainder) {
  BatchOptions options{.batch_size = 4, .drop_remainder = true};
  const UpdateBatch first = next(options), second = next(options, first.after);
  EXPECT_EQ(second.end, (DataCursor{.index = 8}));
  EXPECT_EQ(second.after, (DataCursor{.epoch = 1}));
  options.skipped = {{.from = second.begin, .to = second.end}};
  EXPECT_EQ(next(options).after, (DataCursor{.epoch = 1}));
  EXPECT_EQ(next(options, second.begin).begin.epoch, 1);  // from an older checkpoint
  // Every later epoch has six examples left: one update, and a remainder of two that is dropped.
  DataCursor cursor{.epoch = 1};
  for (int64_t number = 1; number < 6; ++number) {
    const UpdateBatch update = next(options, cursor);
    EXPECT_EQ(update.examples, 4);
    cursor = update.after;
    EXPECT_EQ(cursor, (DataCursor{.epoch = number + 1}));
  }
}

TEST_F(BatcherTest, AnEpochThatSkippingMakesTooSmallIsOneUpdate) {
  const BatchOptions all{.batch_size = 6, .drop_remainder = true};
  BatchOptions options = all;
  options.skipped = {{.from = {}, .to = next(all).end}};
  for (int64_t number = 1; number < 4; ++number) {
    const UpdateBatch update = next(options, {.epoch = number});
    EXPECT_EQ(update.examples, 4);
    EXPECT_EQ(update.after, (DataCursor{.epoch = number + 1}));
  }
}

TEST_F(BatcherTest, MicroBatchesSayWhereTheyStand) {
  const UpdateBatch update = next({.batch_size = 7, .micro_batches = 3});
  ASSERT_THAT(update.micro_batches, SizeIs(3));
  uint64_t tokens = 0, sequences = 0;
  for (const PackedBatch& batch : update.micro_batches) {
    EXPECT_EQ(batch.first_token, tokens);
    EXPECT_EQ(batch.first_sequence, sequences);
    tokens += static_cast<uint64_t>(batch.num_tokens());
    sequences += static_cast<uint64_t>(batch.num_sequences());
  }
  EXPECT_EQ(sequences, 7u);
  EXPECT_EQ(tokens, static_cast<uint64_t>(update.tokens));
  for (const PackedBatch& batch : update.micro_batches) EXPECT_LE(batch.num_sequences(), 3);
}

TEST_F(BatcherTest, TheCutDoesNotChangeTheUpdate) {
  const UpdateBatch whole = next({.batch_size = 8, .seed = 3});
  for (const int64_t parts : {2, 3, 8, 20}) {
    const UpdateBatch cut = next({.batch_size = 8, .micro_batches = parts, .seed = 3});
    EXPECT_EQ(ids(cut), ids(whole)) << parts;
    EXPECT_EQ(cut.after, whole.after);
    for (const PackedBatch& batch : cut.micro_batches) EXPECT_GT(batch.num_sequences(), 0);
  }
}

TEST_F(BatcherTest, ABatchLargerThanTheDataIsAnEpoch) {
  const UpdateBatch update = next({.batch_size = 64});
  EXPECT_EQ(update.examples, 10);
  EXPECT_EQ(update.after, (DataCursor{.epoch = 1}));
}

TEST_F(BatcherTest, AnUpdateDependsOnlyOnItsCursorAndTheSeed) {
  Batcher batcher({.batch_size = 3}, *data_.dataset);
  const UpdateBatch first = batcher.next({});
  const UpdateBatch second = batcher.next(first.after);
  EXPECT_EQ(ids(batcher.next(first.after)), ids(second));
  EXPECT_EQ(ids(next({.batch_size = 3}, first.after)), ids(second));
  EXPECT_NE(ids(next({.batch_size = 3, .seed = 43})), ids(first));
  EXPECT_NE(ids(next({.batch_size = 3}, {.epoch = 1})), ids(first));
}

// Makes the updates of an epoch with a token budget, and checks each against the budget.
class TokenBudgetTest : public BatcherTest {
 protected:
  std::vector<UpdateBatch> epoch(const BatchOptions& options, int64_t number = 0) {
    Batcher batcher(options, *data_.dataset);
    std::vector<UpdateBatch> updates;
    for (DataCursor cursor{.epoch = number}; cursor.epoch == number;) {
      updates.push_back(batcher.next(cursor));
      cursor = updates.back().after;
    }
    return updates;
  }
  static int64_t examples_of(const std::vector<UpdateBatch>& updates) {
    int64_t examples = 0;
    for (const UpdateBatch& update : updates) examples += update.examples;
    return examples;
  }
};

TEST_F(TokenBudgetTest, AnUpdateHasAsManyExamplesAsFit) {
  const std::vector<UpdateBatch> updates = epoch({.batch_size = 99, .token_budget = 15});
  ASSERT_GT(updates.size(), 2u);
  EXPECT_EQ(examples_of(updates), 10);
  for (size_t i = 0; i < updates.size(); ++i) {
    EXPECT_LE(updates[i].tokens, 15);
    if (i + 1 == updates.size()) break;
    const PackedBatch& next = updates[i + 1].micro_batches[0];
    EXPECT_GT(updates[i].tokens + next.cu_seqlens[1], 15) << "one more would have fitted";
  }
}

TEST_F(TokenBudgetTest, AnExampleAboveTheBudgetIsAnUpdateOfItsOwn) {
  const std::vector<UpdateBatch> updates = epoch({.batch_size = 99, .token_budget = 1});
  ASSERT_THAT(updates, SizeIs(10));
  for (const UpdateBatch& update : updates) EXPECT_EQ(update.examples, 1);
}

TEST_F(TokenBudgetTest, TheBatchSizeBoundsTheExamples) {
  const std::vector<UpdateBatch> updates = epoch({.batch_size = 2, .token_budget = 1000});
  ASSERT_THAT(updates, SizeIs(5));
  for (const UpdateBatch& update : updates) EXPECT_EQ(update.examples, 2);
}

TEST_F(TokenBudgetTest, AnUpdateDependsOnlyOnItsCursor) {
  const BatchOptions options{.batch_size = 99, .token_budget = 15};
  for (const UpdateBatch& update : epoch(options, 3)) {
    const UpdateBatch again = next(options, update.begin);
    EXPECT_EQ(ids(again), ids(update));
    EXPECT_EQ(again.after, update.after);
  }
  // Lengths that were counted beforehand give the same updates as the features.
  const std::vector<UpdateBatch> before = epoch(options);
  const std::atomic<bool> stop = false;
  const auto counted = data_.data->some(data_.all_rows());
  counted->count_tokens(3, stop);
  Batcher batcher(options, *counted);
  for (const UpdateBatch& update : before) {
    EXPECT_EQ(ids(batcher.next(update.begin)), ids(update));
  }
}

TEST_F(TokenBudgetTest, UpdatesAreCountedAsTheyWillBeMade) {
  for (const bool drops : {false, true}) {
    const BatchOptions options{.batch_size = 4, .token_budget = 17, .drop_remainder = drops};
    Batcher batcher(options, *data_.dataset);
    int64_t counted = 0, made = 0;
    for (int64_t number = 0; number < 20; ++number) counted += batcher.count(number).updates;
    for (DataCursor cursor; cursor.epoch < 20; ++made) {
      const UpdateBatch update = batcher.next(cursor);
      if (update.after.epoch > 20 || (update.after.epoch == 20 && update.after.index > 0)) break;
      cursor = update.after;
    }
    EXPECT_EQ(counted, made) << drops;
  }
}

TEST_F(TokenBudgetTest, ARemainderIsTheUpdateThatTheEpochsEndCutsShort) {
  const BatchOptions keeps{.batch_size = 99, .token_budget = 20};
  BatchOptions drops = keeps;
  drops.drop_remainder = true;
  const std::vector<UpdateBatch> all = epoch(keeps);
  ASSERT_LT(all.back().tokens, 20);
  ASSERT_GT(all.size(), 1u);
  Batcher batcher(drops, *data_.dataset);
  EXPECT_EQ(batcher.count(0).updates, static_cast<int64_t>(all.size()) - 1);
  // The first update of the next epoch takes its place.
  EXPECT_EQ(ids(batcher.next(all.back().begin)), ids(epoch(keeps, 1).front()));
  // The only update of an epoch is never dropped.
  drops.token_budget = 10000;
  EXPECT_EQ(next(drops).examples, 10);
}

TEST_F(TokenBudgetTest, MicroBatchesShareTheTokens) {
  const BatchOptions whole{.batch_size = 99, .token_budget = 60, .seed = 3};
  const UpdateBatch update = next(whole);
  for (const int64_t parts : {2, 3, 5, 40}) {
    BatchOptions options = whole;
    options.micro_batches = parts;
    const UpdateBatch cut = next(options);
    EXPECT_EQ(ids(cut), ids(update)) << parts;
    uint64_t tokens = 0, sequences = 0;
    for (const PackedBatch& batch : cut.micro_batches) {
      EXPECT_GT(batch.num_sequences(), 0);
      EXPECT_LE(batch.num_tokens(), (update.tokens + parts - 1) / parts + 9) << parts;
      EXPECT_EQ(batch.first_token, tokens);
      EXPECT_EQ(batch.first_sequence, sequences);
      tokens += static_cast<uint64_t>(batch.num_tokens());
      sequences += static_cast<uint64_t>(batch.num_sequences());
    }
    EXPECT_EQ(tokens, static_cast<uint64_t>(update.tokens));
  }
}

TEST_F(BatcherTest, LabelsStayWithTheirTexts) {
  const UpdateBatch update = next({.batch_size = 10, .micro_batches = 2});
  for (const PackedBatch& batch : update.micro_batches) {
    for (size_t i = 0; i < classes_of(batch).size(); ++i) {
      const int32_t letter = batch.input_ids[static_cast<size_t>(batch.cu_seqlens[i]) + 1];
      EXPECT_EQ(classes_of(batch)[i], letter >= 3 + 'n' - 'a' ? 1 : 0);
    }
  }
}

// Throws when it meets the text "boom".
class FragileTokenizer final : public Tokenizer {
 public:
  int32_t vocab_size() const override { return 29; }
  Encoding encode(std::string_view text, std::optional<std::string_view>,
                  const EncodeOptions&) const override {
    if (text == "boom") throw Error(Code::kBadData, "boom");
    return {.input_ids = {1, 2}, .token_type_ids = {0, 0}, .offsets = {}};
  }
  std::string token(int32_t) const override { return ""; }
  std::vector<File> files() const override { return {}; }
};

bool same(const UpdateBatch& a, const UpdateBatch& b) {
  if (a.micro_batches.size() != b.micro_batches.size() || a.after != b.after) return false;
  for (size_t i = 0; i < a.micro_batches.size(); ++i) {
    if (a.micro_batches[i].input_ids != b.micro_batches[i].input_ids ||
        a.micro_batches[i].labels != b.micro_batches[i].labels) {
      return false;
    }
  }
  return true;
}

class PrefetcherTest : public testing::Test {
 protected:
  LetterData data_{10}, same_data_{10};
  Batcher batcher_{{.batch_size = 4, .micro_batches = 2}, *data_.dataset};
  Batcher reference_{{.batch_size = 4, .micro_batches = 2}, *same_data_.dataset};
};

TEST_F(PrefetcherTest, GivesWhatTheBatcherGives) {
  for (const size_t depth : {1, 2, 4, 100}) {
    Prefetcher prefetcher(batcher_, {}, 20, depth);
    DataCursor cursor;
    int updates = 0;
    for (UpdateBatch update; prefetcher.next(update); ++updates) {
      const UpdateBatch expected = reference_.next(cursor);
      EXPECT_TRUE(same(update, expected)) << "update " << updates;
      cursor = expected.after;
    }
    EXPECT_EQ(updates, 20);
  }
}

TEST_F(PrefetcherTest, StartsAnywhere) {
  const DataCursor start = reference_.next(reference_.next({}).after).after;
  Prefetcher prefetcher(batcher_, start, 1);
  UpdateBatch update;
  ASSERT_TRUE(prefetcher.next(update));
  EXPECT_TRUE(same(update, reference_.next(start)));
  EXPECT_FALSE(prefetcher.next(update));
  EXPECT_FALSE(prefetcher.next(update));  // stays at the end
}

TEST_F(PrefetcherTest, NoUpdatesEndAtOnce) {
  Prefetcher prefetcher(batcher_, {}, 0);
  UpdateBatch update;
  EXPECT_FALSE(prefetcher.next(update));
}

TEST_F(PrefetcherTest, MayBeDestroyedAtAnyTime) {
  { const Prefetcher full(batcher_, {}, 1'000'000, 1); }
  {
    Prefetcher begun(batcher_, {}, 1'000'000, 2);
    UpdateBatch update;
    EXPECT_TRUE(begun.next(update));
  }
  EXPECT_TRUE(same(batcher_.next({}), reference_.next({})));  // the batcher is idle again
}

TEST(Prefetcher, AnErrorComesAfterTheUpdatesBeforeIt) {
  const FragileTokenizer tokenizer;
  const TableData data(table_of({"fine", "fine", "fine", "boom"}), tokenizer, 8);
  Batcher batcher({.batch_size = 1}, *data.dataset);
  Prefetcher prefetcher(batcher, {}, 100);
  int updates = 0;
  EXPECT_THAT(
      [&] {
        for (UpdateBatch update; prefetcher.next(update);) ++updates;
      },
      ThrowsCode(Code::kBadData, "boom"));
  EXPECT_LT(updates, 4);
}

std::vector<uint32_t> permutation(int64_t size, uint64_t seed, int64_t epoch, uint32_t stream) {
  std::vector<uint32_t> order;
  permute(size, seed, epoch, stream, order);
  return order;
}

std::vector<int64_t> take(Sampler& sampler, DataCursor& cursor, int64_t count) {
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < count; ++i) rows.push_back(sampler.next(cursor));
  return rows;
}

std::vector<int64_t> epoch_of(Sampler sampler, int64_t epoch, int64_t rows) {
  DataCursor cursor{.epoch = epoch};
  return take(sampler, cursor, rows);
}

bool is_permutation(std::vector<int64_t> rows) {
  std::sort(rows.begin(), rows.end());
  std::vector<int64_t> all(rows.size());
  std::iota(all.begin(), all.end(), 0);
  return rows == all;
}

TEST(Permutation, HasEveryNumberOnce) {
  for (const int64_t size : {0, 1, 2, 3, 100, 1001}) {
    const auto order = permutation(size, 42, 0, 0);
    EXPECT_TRUE(is_permutation({order.begin(), order.end()})) << size;
  }
}

TEST(Permutation, DependsOnlyOnSeedEpochAndStream) {
  const auto order = permutation(100, 42, 3, 5);
  EXPECT_EQ(permutation(100, 42, 3, 5), order);
  EXPECT_NE(permutation(100, 43, 3, 5), order);
  EXPECT_NE(permutation(100, 42 + (uint64_t{1} << 32), 3, 5), order);
  EXPECT_NE(permutation(100, 42, 4, 5), order);
  EXPECT_NE(permutation(100, 42, 3, 6), order);
}

TEST(Permutation, EveryOrderIsEquallyLikely) {
  std::map<std::vector<uint32_t>, int> seen;
  for (int64_t epoch = 0; epoch < 6000; ++epoch) ++seen[permutation(3, 1, epoch, 0)];
  EXPECT_EQ(seen.size(), 6u);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 150);
}

TEST(Sampler, GivesEveryRowOnceAnEpoch) {
  for (const int64_t run_rows : {1, 4, 10, 16, 100}) {
    for (const int64_t runs_of_block : {1, 2, 3, 9}) {
      for (const int64_t epoch : {0, 1, 2}) {
        Sampler sampler(61, {run_rows, runs_of_block}, 42);
        EXPECT_TRUE(is_permutation(epoch_of(std::move(sampler), epoch, 61))) << run_rows;
      }
    }
  }
}

TEST(Sampler, ShufflesAnewForEveryEpochAndSeed) {
  const auto first = epoch_of(Sampler(50, {50}, 1), 0, 50);
  EXPECT_NE(epoch_of(Sampler(50, {50}, 1), 1, 50), first);
  EXPECT_NE(epoch_of(Sampler(50, {50}, 2), 0, 50), first);
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
}

TEST(Sampler, FinishesABlockBeforeTheNext) {
  const auto rows = epoch_of(Sampler(100, {10}, 7), 0, 100);
  std::vector<int64_t> blocks;
  for (size_t i = 0; i < rows.size(); i += 10) {
    blocks.push_back(rows[i] / 10);
    for (size_t j = i; j < i + 10; ++j) EXPECT_EQ(rows[j] / 10, blocks.back());
    EXPECT_FALSE(std::is_sorted(rows.begin() + static_cast<ptrdiff_t>(i),
                                rows.begin() + static_cast<ptrdiff_t>(i) + 10));
  }
  EXPECT_FALSE(std::is_sorted(blocks.begin(), blocks.end()));
}

TEST(Sampler, MakesBlocksOfRunsOfTheWholeTable) {
  constexpr int64_t kRun = 8, kRunsOfBlock = 64, kRows = 10 * kRun * kRunsOfBlock - 3;
  const auto rows = epoch_of(Sampler(kRows, {kRun, kRunsOfBlock}, 7), 0, kRows);
  std::map<int64_t, int> tenths, runs;  // of the table, among the rows of the first block
  for (size_t i = 0; i < kRun * kRunsOfBlock - 3; ++i) {
    ++tenths[rows[i] * 10 / kRows];
    ++runs[rows[i] / kRun];
  }
  EXPECT_EQ(tenths.size(), 10u);
  EXPECT_LE(runs.size(), kRunsOfBlock + 1u) << "neighbours are read together";
  EXPECT_GT(std::abs(rows[1] / kRun - rows[0] / kRun), 1) << "but are shuffled";
}

TEST(Sampler, CountsTheRowsThatItHasPassed) {
  for (const ShuffledRuns runs : {ShuffledRuns{4, 1}, {4, 3}, {1, 7}, {30, 1}}) {
    Sampler sampler(30, runs, 5);
    DataCursor cursor{.epoch = 2};
    for (int64_t i = 0; i < 30; ++i) {
      EXPECT_TRUE(sampler.holds(cursor));
      EXPECT_NEAR(sampler.epochs_until(cursor), 2 + static_cast<double>(i) / 30, 1e-12);
      sampler.next(cursor);
    }
    EXPECT_EQ(cursor, (DataCursor{.epoch = 3}));
  }
}

// Samplers of earlier versions gave these rows, so jobs that these began go on rightly.
TEST(Sampler, OrdersBlocksOfOneRunAsEarlierVersionsDid) {
  EXPECT_THAT(epoch_of(Sampler(11, {4}, 42), 1, 11), ElementsAre(9, 8, 10, 0, 3, 2, 1, 6, 4, 7, 5));
}

TEST(Sampler, ContinuesFromAnyCursor) {
  constexpr int64_t kRows = 23;
  constexpr ShuffledRuns kBlock{2, 3};
  Sampler uninterrupted(kRows, kBlock, 3);
  DataCursor cursor;
  std::vector<DataCursor> cursors;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 3 * kRows; ++i) {
    cursors.push_back(cursor);
    rows.push_back(uninterrupted.next(cursor));
  }
  EXPECT_EQ(cursor, (DataCursor{.epoch = 3}));
  for (size_t i = 0; i < cursors.size(); ++i) {
    Sampler resumed(kRows, kBlock, 3);
    DataCursor at = cursors[i];
    EXPECT_EQ(take(resumed, at, static_cast<int64_t>(rows.size() - i)),
              std::vector<int64_t>(rows.begin() + static_cast<ptrdiff_t>(i), rows.end()))
        << "from row " << i;
  }
}

TEST(Sampler, HoldsThePlacesOfItsRows) {
  Sampler sampler(10, {4}, 1);  // blocks of 4, 4 and 2 rows, in another order each epoch
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    int64_t held = 0;
    for (int64_t block = -1; block < 5; ++block) {
      for (int64_t index = -1; index < 6; ++index) {
        held += sampler.holds({.epoch = epoch, .block = block, .index = index});
      }
    }
    EXPECT_EQ(held, 10);
  }
  EXPECT_FALSE(sampler.holds({.epoch = -1}));
  EXPECT_FALSE(sampler.holds({.block = INT64_MAX}));
  EXPECT_FALSE(sampler.holds({.index = INT64_MAX}));
}

TEST(Sampler, CountsEpochsByRows) {
  Sampler sampler(10, {4}, 7);  // the last block has two
  DataCursor cursor;
  for (int64_t passed = 0; passed < 30; ++passed) {
    EXPECT_DOUBLE_EQ(sampler.epochs_until(cursor), static_cast<double>(passed) / 10) << passed;
    sampler.next(cursor);
  }
}

TEST(Sampler, OneRowComesAgainAndAgain) {
  Sampler sampler(1, {1}, 42);
  DataCursor cursor;
  EXPECT_THAT(take(sampler, cursor, 3), testing::ElementsAre(0, 0, 0));
  EXPECT_EQ(cursor, (DataCursor{.epoch = 3}));
}

}  // namespace
}  // namespace berth
