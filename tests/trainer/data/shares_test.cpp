// The shares of an update that several ranks train.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/letter_data.h"
#include "trainer/data/batcher.h"

namespace berth {
namespace {

class SharesTest : public testing::Test {
 protected:
  UpdateBatch next(const BatchOptions& options) {
    return Batcher(options, *data_.dataset).next({});
  }

  // The ids of all texts, whatever the micro-batches.
  static std::vector<int32_t> ids(const UpdateBatch& update) {
    std::vector<int32_t> all;
    for (const PackedBatch& batch : update.micro_batches) {
      all.insert(all.end(), batch.input_ids.begin(), batch.input_ids.end());
    }
    return all;
  }
  static std::vector<int64_t> lengths(const UpdateBatch& update) {
    std::vector<int64_t> all;
    for (const PackedBatch& batch : update.micro_batches) {
      for (size_t b = 1; b < batch.cu_seqlens.size(); ++b) {
        all.push_back(batch.cu_seqlens[b] - batch.cu_seqlens[b - 1]);
      }
    }
    return all;
  }

  LetterData data_{10};
};

TEST_F(SharesTest, RanksShareAnUpdate) {
  const UpdateBatch whole = next({.batch_size = 8});
  for (const int64_t ranks : {1, 2, 3, 5, 12}) {
    std::vector<int32_t> all;
    uint64_t tokens = 0, sequences = 0;
    int64_t most = 0;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const UpdateBatch share =
          next({.batch_size = 8, .micro_batches = 2, .rank = rank, .ranks = ranks});
      EXPECT_EQ(share.examples, 8);
      EXPECT_EQ(share.tokens, whole.tokens);
      EXPECT_EQ(share.after, whole.after);
      const uint64_t before = tokens;
      for (const PackedBatch& batch : share.micro_batches) {
        EXPECT_EQ(batch.first_token, tokens);
        EXPECT_EQ(batch.first_sequence, sequences);
        tokens += static_cast<uint64_t>(batch.num_tokens());
        sequences += static_cast<uint64_t>(batch.num_sequences());
      }
      most = std::max(most, static_cast<int64_t>(tokens - before));
      const std::vector<int32_t> own = ids(share);
      all.insert(all.end(), own.begin(), own.end());
    }
    EXPECT_EQ(all, ids(whole)) << ranks;
    EXPECT_LE(most, whole.tokens / ranks + std::ranges::max(lengths(whole))) << ranks;
  }
}

TEST_F(SharesTest, SharesHaveAsFewTokensAsPossible) {
  // Of all ways to cut the neighbours into two, none has a smaller larger part.
  const UpdateBatch whole = next({.batch_size = 9});
  int64_t least = whole.tokens, before = 0;
  for (const int64_t length : lengths(whole)) {
    before += length;
    least = std::min(least, std::max(before, whole.tokens - before));
  }
  int64_t most = 0;
  for (const int64_t rank : {0, 1}) {
    const UpdateBatch share = next({.batch_size = 9, .rank = rank, .ranks = 2});
    most = std::max(most, static_cast<int64_t>(ids(share).size()));
  }
  EXPECT_EQ(most, least);
}

}  // namespace
}  // namespace berth
