#include "entrypoint/modes/token_packing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/formats/token_shard.h"
#include "storage/local_storage.h"
#include "tests/support/letter_tokenizer.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "trainer/text/tokenizer_checksum.h"

namespace berth {
namespace {

using testing::ElementsAre;

class Packing : public testing::Test {
 protected:
  // Packs the texts in batches and returns the files, by their names.
  std::vector<std::string> pack(const std::vector<std::string>& texts, int threads, size_t batch,
                                uint64_t shard_bytes, const std::string& folder) {
    ThreadPool pool(threads);
    TokenPacker packer(tokenizer_, 8, pool);
    for (size_t begin = 0; begin < texts.size(); begin += batch) {
      packer.add(std::span(texts).subspan(begin, std::min(batch, texts.size() - begin)));
    }
    const auto plan = packer.plan(shard_bytes);
    const Uri directory = Uri::parse(scratch_ / folder);
    packer.write(*storage_, directory, plan, [] {});
    std::vector<std::string> files;
    for (const std::string& name : token_shard_names(plan.size())) {
      files.push_back(read_text(scratch_.path() / folder / name));
    }
    return files;
  }

  LetterTokenizer tokenizer_;
  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(Packing, AShardHoldsTheSequencesAndSaysWhatMadeThem) {
  const auto files = pack({"ab", "c"}, 1, 10, 1000, "one");
  ASSERT_EQ(files.size(), 1u);
  const TokenShard shard(as_bytes(files[0]));
  std::vector<int32_t> ids;
  shard.read(0, ids);
  EXPECT_THAT(ids, ElementsAre(1, 3, 4, 2));
  shard.read(1, ids);
  EXPECT_THAT(ids, ElementsAre(1, 5, 2));
  EXPECT_EQ(shard.info().vocab_size, 29u);
  EXPECT_EQ(shard.info().max_seq_length, 8u);
  EXPECT_EQ(shard.info().tokenizer_checksum, tokenizer_checksum(tokenizer_));
}

TEST_F(Packing, ALongDocumentBecomesSeveralSequences) {
  const auto files = pack({"abcdefgh", "z"}, 1, 10, 1000, "long");
  const TokenShard shard(as_bytes(files[0]));
  ASSERT_EQ(shard.sequences(), 3u);
  std::vector<int32_t> ids;
  shard.read(0, ids);
  EXPECT_THAT(ids, ElementsAre(1, 3, 4, 5, 6, 7, 8, 2));
  shard.read(1, ids);
  EXPECT_THAT(ids, ElementsAre(1, 9, 10, 2));
}

TEST_F(Packing, ThreadsAndBatchesChangeNothing) {
  std::vector<std::string> texts;
  for (int i = 0; i < 3000; ++i) {
    texts.emplace_back(static_cast<size_t>(1 + i % 6), static_cast<char>('a' + i * 7 % 26));
  }
  const auto expected = pack(texts, 1, 3000, 4000, "a");
  EXPECT_GT(expected.size(), 5u);
  EXPECT_EQ(pack(texts, 3, 100, 4000, "b"), expected);
  uint64_t sequences = 0;
  for (const std::string& file : expected) {
    EXPECT_LE(file.size(), 4000u + 84);
    const TokenShard shard(as_bytes(file));
    sequences += shard.sequences();
    EXPECT_EQ(shard.info().preparation, TokenShard(as_bytes(expected[0])).info().preparation);
  }
  EXPECT_EQ(sequences, TokenShard(as_bytes(expected[0])).info().total_sequences);
}

TEST_F(Packing, OtherShardsInTheDirectoryAreRefused) {
  pack({"ab", "cd", "ef"}, 1, 10, 30, "out");
  const Uri directory = Uri::parse(scratch_ / "out");
  refuse_other_shards(*storage_, directory, token_shard_names(2));
  EXPECT_THAT([&] { refuse_other_shards(*storage_, directory, token_shard_names(1)); },
              ThrowsCode(Code::kIncompatible, "train-00000-of-00002.tokens"));
}

TEST(TokenizerChecksum, DiffersWhereTokensOrTheirIdsDo) {
  class Other final : public Tokenizer {
   public:
    int32_t vocab_size() const override { return inner_.vocab_size(); }
    Encoding encode(std::string_view text, std::optional<std::string_view> pair,
                    const EncodeOptions& options) const override {
      return inner_.encode(encodes_less ? "" : text, pair, options);
    }
    std::string token(int32_t id) const override { return id == renamed ? "!" : inner_.token(id); }
    std::vector<File> files() const override { return {}; }
    bool encodes_less = false;
    int32_t renamed = -1;

   private:
    LetterTokenizer inner_;
  };
  Other other;
  const uint32_t same = tokenizer_checksum(other);
  EXPECT_EQ(same, tokenizer_checksum(LetterTokenizer()));
  other.renamed = 28;
  EXPECT_NE(tokenizer_checksum(other), same);
  other.renamed = -1;
  other.encodes_less = true;
  EXPECT_NE(tokenizer_checksum(other), same);
}

}  // namespace
}  // namespace berth
