#include "trainer/data/joined_documents.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "tests/support/letter_tokenizer.h"
#include "trainer/data/batcher.h"
#include "trainer/data/features.h"

namespace berth {
namespace {

class JoinedDocumentsTest : public testing::Test {
 protected:
  void add(const std::string& text) { table_.append({.texts = {text}}); }
  void add(size_t documents, const std::string& text) {
    for (size_t i = 0; i < documents; ++i) add(text);
  }
  int64_t join(JoinOptions options) {
    table_.finish();
    std::vector<uint32_t> rows(table_.rows());
    std::iota(rows.begin(), rows.end(), 0u);
    const int64_t most = join_documents(table_, rows, tokenizer_, options, joined_);
    joined_.finish();
    return most;
  }

  LetterTokenizer tokenizer_;
  ExampleTable table_, joined_;
};

// [CLS] is 1, [SEP] 2, a 3: a1 = "1 3 2".
TEST_F(JoinedDocumentsTest, CutsDocumentsThatAreLaidEndToEnd) {
  add("a");
  add("bcde");
  add("f");
  EXPECT_EQ(join({.block_tokens = 5}), 2);
  ASSERT_EQ(joined_.rows(), 2u);  // the last two tokens are dropped
  const Example first = joined_.read(0), second = joined_.read(1);
  EXPECT_EQ(first.token_ids, (std::vector<int32_t>{1, 3, 2, 1, 4}));
  EXPECT_EQ(first.labels, (std::vector<int32_t>{3, 5}));
  EXPECT_EQ(second.token_ids, (std::vector<int32_t>{5, 6, 7, 2, 1}));
  EXPECT_EQ(second.labels, (std::vector<int32_t>{4, 5}));
  EXPECT_EQ(joined_.source_row(0), 0u);
  EXPECT_EQ(joined_.source_row(1), 1u);
}

TEST_F(JoinedDocumentsTest, ABlockMayBeOneSequence) {
  add(4, "a");
  EXPECT_EQ(join({.block_tokens = 4, .is_one_sequence = true}), 1);
  ASSERT_EQ(joined_.rows(), 3u);
  EXPECT_TRUE(joined_.read(0).labels.empty());
}

TEST_F(JoinedDocumentsTest, AnEndThatFallsOnACutMakesNoEmptySequence) {
  add(4, "a");
  EXPECT_EQ(join({.block_tokens = 6}), 2);
  EXPECT_EQ(joined_.read(0).labels, (std::vector<int32_t>{3, 6}));
  EXPECT_EQ(joined_.read(1).labels, (std::vector<int32_t>{3, 6}));
}

// What group_texts() of run_mlm.py makes of 2,500 documents of 3 tokens and blocks of 128:
// 3000 // 128 + 3000 // 128 + 1500 // 128.
TEST_F(JoinedDocumentsTest, DropsWhatIsLeftOfEveryThousandDocuments) {
  add(2500, "a");
  EXPECT_EQ(join({.block_tokens = 128}), 44);
  EXPECT_EQ(joined_.rows(), 23u + 23u + 11u);
}

TEST_F(JoinedDocumentsTest, LeavesBlankDocumentsOut) {
  add("a");
  add("");
  add(" \n");
  add("b");
  join({.block_tokens = 128});
  EXPECT_EQ(joined_.read(0).token_ids, (std::vector<int32_t>{1, 3, 2, 1, 4, 2}));
}

TEST_F(JoinedDocumentsTest, JoinsBlankDocumentsForAJobOfAnEarlierVersion) {
  add("a");
  add("");
  join({.block_tokens = 128, .joins_blank = true});
  EXPECT_EQ(joined_.read(0).token_ids, (std::vector<int32_t>{1, 3, 2, 1, 2}));
}

TEST_F(JoinedDocumentsTest, KeepsAllOfATextThatFillsNoBlock) {
  add(2, "abc");
  join({.block_tokens = 128});
  ASSERT_EQ(joined_.rows(), 1u);
  EXPECT_EQ(joined_.read(0).token_ids.size(), 10u);
}

TEST_F(JoinedDocumentsTest, ABlockIsOneExampleOfSeveralSequences) {
  add("a");
  add("bcde");
  add("f");
  join({.block_tokens = 5});
  const auto maker = make_feature_maker({.task = Task::kMaskedLm, .max_seq_length = 5}, tokenizer_);
  const Masking masking(tokenizer_, {});
  Dataset data(joined_, {0, 1}, Task::kMaskedLm, *maker, /*labelled=*/true);
  data.mask_with(masking);
  ASSERT_EQ(data.size(), 2);
  const PackedBatch batch = pack(data, std::vector<int64_t>{0, 1});
  EXPECT_EQ(batch.cu_seqlens, (std::vector<int32_t>{0, 3, 5, 9, 10}));
  EXPECT_EQ(batch.position_ids, (std::vector<int32_t>{0, 1, 2, 0, 1, 0, 1, 2, 3, 0}));
  EXPECT_EQ(batch.sequences_per_example, 1);
  EXPECT_FALSE(std::get<PackedBatch::MaskedTokens>(batch.labels).tokens.empty());
}

TEST_F(JoinedDocumentsTest, TokenIdsAreNoTexts) {
  ExampleTable ids;
  ids.append({.token_ids = {1, 2}, .token_types = {0, 0}});
  ids.finish();
  EXPECT_FALSE(holds_texts(ids));
  add("a");
  table_.finish();
  EXPECT_TRUE(holds_texts(table_));
}

}  // namespace
}  // namespace berth
