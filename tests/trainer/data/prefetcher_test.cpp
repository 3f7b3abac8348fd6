#include "trainer/data/prefetcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/letter_data.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

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

}  // namespace
}  // namespace berth
