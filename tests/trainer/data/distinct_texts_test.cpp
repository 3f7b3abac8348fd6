#include "trainer/data/distinct_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "storage/base/text.h"
#include "tests/support/letter_tokenizer.h"
#include "trainer/data/batcher.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Batches = std::vector<std::vector<int64_t>>;

// A data set of rows of texts.
class RowsOfTexts {
 public:
  explicit RowsOfTexts(const std::vector<std::vector<std::string>>& rows,
                       size_t memory_bytes = size_t{1} << 20)
      : texts(rows), table_(memory_bytes) {
    for (const std::vector<std::string>& row : rows) {
      Example example;
      example.texts = row;
      table_.append(example);
    }
    table_.finish();
    std::vector<uint32_t> all(rows.size());
    std::iota(all.begin(), all.end(), 0u);
    data = std::make_unique<Dataset>(table_, all, Task::kInBatchNegatives, *maker_,
                                     /*labelled=*/true);
  }

  // The batches of rows whose order is theirs.
  Batches batches(int64_t batch_size, int64_t token_budget = 0) {
    DistinctTexts distinct(*data, batch_size, token_budget);
    std::vector<uint32_t> order(texts.size());
    std::iota(order.begin(), order.end(), 0u);
    distinct.arrange(0, order);
    Batches made;
    int64_t tokens = 0;
    for (const uint32_t row : order) {
      const int64_t length = token_budget > 0 ? data->length(row) : 0;
      const bool is_full =
          made.empty() || std::ssize(made.back()) == batch_size || tokens + length > token_budget;
      if (is_full || !distinct.may_join(row)) {
        distinct.begin_batch();
        made.emplace_back();
        tokens = 0;
      }
      distinct.join(row);
      made.back().push_back(row);
      tokens += length;
    }
    return made;
  }

  // The same by looking at every row that is left, for each batch.
  Batches plain_batches(int64_t batch_size, int64_t token_budget = 0) {
    std::vector<int64_t> left(texts.size());
    std::iota(left.begin(), left.end(), 0);
    Batches made;
    while (!left.empty()) {
      std::set<std::string> used;
      std::vector<int64_t> batch, passed;
      int64_t tokens = 0;
      bool is_open = true;
      for (const int64_t row : left) {
        const auto& own = texts[static_cast<size_t>(row)];
        const bool shares =
            std::ranges::any_of(own, [&](const std::string& text) { return used.contains(text); });
        if (is_open && !shares && token_budget > 0 && !batch.empty() &&
            tokens + data->length(row) > token_budget) {
          is_open = false;
        }
        if (!is_open || shares || std::ssize(batch) == batch_size) {
          passed.push_back(row);
          continue;
        }
        used.insert(own.begin(), own.end());
        batch.push_back(row);
        if (token_budget > 0) tokens += data->length(row);
      }
      made.push_back(batch);
      left = passed;
    }
    return made;
  }

  const std::vector<std::vector<std::string>> texts;
  std::unique_ptr<Dataset> data;

 private:
  LetterTokenizer tokenizer_;
  ExampleTable table_;
  std::unique_ptr<FeatureMaker> maker_ =
      make_feature_maker({.task = Task::kInBatchNegatives, .max_seq_length = 32}, tokenizer_);
};

std::string letters(char first, int number) {
  return {first, static_cast<char>('a' + number / 26), static_cast<char>('a' + number % 26)};
}

// tests/record/record_distinct_batches.py made these rows and batches.
TEST(DistinctTexts, MakesTheBatchesOfSentenceTransformers) {
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < 40; ++i) {
    rows.push_back({letters('a', i * 7 % 29), letters('b', i * i % 23),
                    i % 4 == 0 ? letters('a', i % 3) : letters('c', i)});
  }
  RowsOfTexts data(rows);
  EXPECT_EQ(data.batches(3), (Batches{{0, 1, 2},
                                      {3, 4, 5},
                                      {6, 7, 8},
                                      {9, 10, 11},
                                      {12, 13, 14},
                                      {15, 16, 17},
                                      {18, 19, 20},
                                      {21, 22, 23},
                                      {24, 25, 26},
                                      {27, 28, 29},
                                      {30, 31, 32},
                                      {33, 34, 37},
                                      {35, 36, 38},
                                      {39}}));
  EXPECT_EQ(data.batches(5), (Batches{{0, 1, 2, 3, 4},
                                      {5, 6, 7, 8, 9},
                                      {10, 11, 14, 15, 16},
                                      {12, 13, 17, 18, 19},
                                      {20, 22, 23, 25, 27},
                                      {21, 24, 26, 28, 30},
                                      {29, 31, 32, 33, 34},
                                      {35, 36, 37, 38, 39}}));
  EXPECT_EQ(data.batches(16), (Batches{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                                       {12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23},
                                       {21, 24, 26, 27, 28, 30, 31, 33, 34, 37},
                                       {25, 29, 32, 35, 38, 39},
                                       {36}}));
}

TEST(DistinctTexts, TakeTheFirstRowsThatShareNoText) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const int kinds = 1 + static_cast<int>(random() % 60);
    std::vector<std::vector<std::string>> rows(1 + random() % 90);
    for (std::vector<std::string>& row : rows) {
      for (int column = 0; column < 3; ++column) {
        row.push_back(letters('a', static_cast<int>(random()) % kinds + kinds));
      }
    }
    RowsOfTexts data(rows);
    const int64_t batch_size = 1 + static_cast<int64_t>(random() % 12);
    const int64_t token_budget = trial % 2 == 0 ? 0 : 15 + static_cast<int64_t>(random() % 90);
    ASSERT_EQ(data.batches(batch_size, token_budget), data.plain_batches(batch_size, token_budget))
        << "trial " << trial;
  }
}

TEST(DistinctTexts, ATextMayStandTwiceInOneRow) {
  RowsOfTexts data({{"a", "a"}, {"b", "c"}, {"a", "d"}});
  EXPECT_EQ(data.batches(4), (Batches{{0, 1}, {2}}));
}

// Rows of which some share their second text.
std::vector<std::vector<std::string>> sharing_rows(int count, int kinds) {
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < count; ++i) {
    rows.push_back({letters('a', i), letters('b', i < 10 ? i : i % kinds)});
  }
  return rows;
}

class DistinctBatches : public testing::Test {
 protected:
  struct Epoch {
    std::vector<DataCursor> cursors{};
    std::vector<std::vector<std::vector<int32_t>>> updates{};  // the ids of each text
  };
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
  static Epoch epoch(Batcher& batcher, int64_t number) {
    Epoch made;
    for (DataCursor cursor{.epoch = number}; cursor.epoch == number;) {
      const UpdateBatch update = batcher.next(cursor);
      made.cursors.push_back(cursor);
      made.updates.push_back(texts(update));
      cursor = update.after;
    }
    return made;
  }
  static bool has_equal_texts(std::vector<std::vector<int32_t>> texts) {
    std::ranges::sort(texts);
    return std::ranges::adjacent_find(texts) != texts.end();
  }

  RowsOfTexts data_{sharing_rows(60, 15)};
};

TEST_F(DistinctBatches, HoldEveryRowOnceAndNoTextTwice) {
  Batcher plain({.batch_size = 8}, *data_.data);
  Batcher apart({.batch_size = 8, .micro_batches = 2, .keeps_texts_apart = true}, *data_.data);
  std::map<std::vector<int32_t>, int> expected, found;
  for (const auto& update : epoch(plain, 1).updates) {
    for (const auto& text : update) ++expected[text];
  }
  const Epoch made = epoch(apart, 1);
  for (const auto& update : made.updates) {
    EXPECT_FALSE(has_equal_texts(update));
    for (const auto& text : update) ++found[text];
  }
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(std::ranges::any_of(epoch(plain, 1).updates, has_equal_texts));
  EXPECT_NE(epoch(apart, 2).updates, made.updates);
  const Batcher::EpochCount counted = apart.count(1);
  EXPECT_EQ(counted.updates, std::ssize(made.updates));
  EXPECT_EQ(counted.short_updates, std::ranges::count_if(made.updates, [](const auto& update) {
                                     return update.size() < 16;
                                   }) - (made.updates.back().size() < 16 ? 1 : 0));
  EXPECT_EQ(counted.repeating_rows, 60) << "the first ten rows have the texts of others, too";
}

TEST_F(DistinctBatches, AreTheSameAfterAResume) {
  const BatchOptions options{.batch_size = 8, .drop_remainder = true, .keeps_texts_apart = true};
  Batcher batcher(options, *data_.data);
  for (const int64_t number : {0, 3}) {
    const Epoch made = epoch(batcher, number);
    for (size_t i = 0; i < made.cursors.size(); ++i) {
      Batcher resumed(options, *data_.data);
      EXPECT_EQ(texts(resumed.next(made.cursors[i])), made.updates[i]);
    }
    std::vector<size_t> backwards(made.cursors.size());
    std::iota(backwards.rbegin(), backwards.rend(), size_t{0});
    for (const size_t i : backwards) {
      EXPECT_EQ(texts(batcher.next(made.cursors[i])), made.updates[i]);
    }
  }
}

TEST_F(DistinctBatches, SkippedRowsStayOut) {
  BatchOptions options{.batch_size = 8, .keeps_texts_apart = true};
  Batcher all(options, *data_.data);
  const UpdateBatch first = all.next({});
  const std::vector<std::vector<int32_t>> skipped = texts(first);
  options.skipped = {{{}, first.after}};
  Batcher batcher(options, *data_.data);
  size_t rows = 0;
  for (const auto& update : epoch(batcher, 1).updates) {
    EXPECT_FALSE(has_equal_texts(update));
    rows += update.size() / 2;
  }
  EXPECT_EQ(rows, 60 - skipped.size() / 2);
}

// Each pass over a source has all of its rows. The passes over a source follow one another,
// whatever updates they take.
TEST_F(DistinctBatches, OfSeveralSourcesHoldNoTextTwice) {
  data_.data->set_sources({{.rows = 40}, {.rows = 20}});
  const BatchOptions options{.batch_size = 8, .keeps_texts_apart = true};
  Batcher batcher(options, *data_.data);
  const Batcher::EpochCount counted = batcher.count(0);
  EXPECT_EQ(counted.updates, 5 + 3);
  EXPECT_EQ(counted.repeating_rows, 40 + 10) << "rows of one source share texts";
  std::map<std::vector<int32_t>, int64_t> rows;
  for (int64_t number = 0; number < 6; ++number) {
    const Epoch made = epoch(batcher, number);
    EXPECT_EQ(std::ssize(made.updates), counted.updates);
    for (size_t i = 0; i < made.updates.size(); ++i) {
      EXPECT_FALSE(has_equal_texts(made.updates[i])) << i;
      Batcher resumed(options, *data_.data);
      EXPECT_EQ(texts(resumed.next(made.cursors[i])), made.updates[i]);
      for (size_t text = 0; text < made.updates[i].size(); text += 2) {
        std::vector<int32_t> row = made.updates[i][text];
        row.insert(row.end(), made.updates[i][text + 1].begin(), made.updates[i][text + 1].end());
        ++rows[row];
      }
    }
  }
  // Six epochs are three to six passes, of which the last one may have begun only.
  for (const auto& [row, times] : rows) EXPECT_TRUE(times >= 3 && times <= 6) << times;
  EXPECT_EQ(rows.size(), 60u);
  EXPECT_EQ(texts(batcher.next({})), epoch(batcher, 0).updates[0]) << "back to the first pass";
}

// Rows on disk are ordered in blocks of 16,384, and an update is of one block.
TEST_F(DistinctBatches, OfRowsOnDiskAreOfOneBlock) {
  constexpr int kRows = 40'000, kKinds = 12'000;
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < kRows; ++i) {
    rows.push_back({cat("q", i), cat("p", i * 7919 % kKinds)});
  }
  RowsOfTexts spilled(rows, /*memory_bytes=*/10'000);
  ASSERT_LT(spilled.data->shuffled_runs().joined().rows, kRows);
  const BatchOptions options{.batch_size = 500, .keeps_texts_apart = true};
  Batcher batcher(options, *spilled.data);
  const Batcher::EpochCount counted = batcher.count(2);
  EXPECT_GE(counted.updates, kRows / 500);
  EXPECT_LT(counted.updates, kRows / 500 + 20) << "few updates are short";
  // Each of the two whole blocks has the first kinds twice, and the last block has none twice.
  EXPECT_EQ(counted.repeating_rows, 2 * 2 * (16'384 - kKinds));
  int64_t seen = 0, updates = 0;
  for (DataCursor cursor{.epoch = 2}; cursor.epoch == 2; ++updates) {
    const UpdateBatch update = batcher.next(cursor);
    seen += update.examples;
    EXPECT_TRUE(update.end.block == cursor.block || update.end.index == 0);
    if (updates % 20 == 0) {
      EXPECT_EQ(texts(Batcher(options, *spilled.data).next(cursor)), texts(update));
    }
    cursor = update.after;
  }
  EXPECT_EQ(updates, counted.updates);
  EXPECT_EQ(seen, kRows);
}

TEST_F(DistinctBatches, AreRandomBatchesWhereNoTextRepeats) {
  RowsOfTexts unique(sharing_rows(30, 30));
  Batcher plain({.batch_size = 8, .drop_remainder = true}, *unique.data);
  Batcher apart({.batch_size = 8, .drop_remainder = true, .keeps_texts_apart = true}, *unique.data);
  EXPECT_EQ(epoch(apart, 2).updates, epoch(plain, 2).updates);
  EXPECT_EQ(apart.count(0).repeating_rows, 0);
}

}  // namespace
}  // namespace berth
