#include "trainer/data/token_shard_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/throws_code.h"
#include "tests/support/token_shard_bytes.h"
#include "trainer/data/example_table.h"

namespace berth {
namespace {

using testing::ElementsAre;

class ShardSet : public testing::Test {
 protected:
  // The set of these shards, by their numbers.
  TokenShardSet open(const std::vector<size_t>& shards,
                     std::optional<uint32_t> tokenizer = std::nullopt) {
    std::vector<TokenShardFile> files;
    for (const size_t shard : shards) {
      files.push_back(
          {.name = "shard " + std::to_string(shard), .mapped = {}, .read = files_[shard]});
    }
    return TokenShardSet(std::move(files), tokenizer);
  }
  void refuses(const std::vector<size_t>& shards, const std::string& says) {
    EXPECT_THAT([&] { open(shards); }, ThrowsCode(Code::kBadData, says));
  }

  std::vector<std::vector<std::byte>> files_ = three_token_shards();
};

TEST_F(ShardSet, RowsAreTheSequencesOfAllShards) {
  const TokenShardSet set = open({0, 1, 2}, 17);
  ASSERT_EQ(set.rows(), 5u);
  EXPECT_THAT(set.read(0).token_ids, ElementsAre(1, 2));
  EXPECT_THAT(set.read(1).token_ids, ElementsAre(3));
  EXPECT_THAT(set.read(2).token_ids, ElementsAre(4, 5, 6));
  EXPECT_THAT(set.read(4).token_ids, ElementsAre(8));
  EXPECT_THAT(set.read(2).token_types, ElementsAre(0, 0, 0));
  EXPECT_EQ(set.bytes(2).size(), 6u);
}

TEST_F(ShardSet, AMissingShardIsNamed) {
  refuses({1, 2}, "shard 1: is shard 2 of 3, where shard 1 is expected");
  refuses({0, 2}, "shard 2: is shard 3 of 3, where shard 2 is expected");
  refuses({0, 1}, "shard 1: is shard 2 of 3, and shard 3 is missing");
}

TEST_F(ShardSet, ShardsOutOfOrderAreNamed) {
  refuses({1, 0, 2}, "where shard 1 is expected");
  refuses({0, 1, 2, 2}, "shard 2: is shard 3 of 3, where shard 4 is expected");
}

TEST_F(ShardSet, AShardOfAnotherPreparationIsNamed) {
  files_[1] = three_token_shards(/*preparation=*/6)[1];
  refuses({0, 1, 2}, "shard 1: belongs to another preparation than shard 0");
}

TEST_F(ShardSet, AnotherTokenizerIsNamed) {
  EXPECT_THAT([&] { open({0, 1, 2}, 18); }, ThrowsCode(Code::kBadData, "another tokenizer"));
}

TEST_F(ShardSet, ADamagedShardIsNamed) {
  files_[1].back() ^= std::byte{1};
  EXPECT_THAT([&] { open({0, 1, 2}); }, ThrowsCode(Code::kCorrupt, "shard 1: byte "));
}

TEST_F(ShardSet, ATableAdoptsIt) {
  ExampleTable small, large(/*memory_bytes=*/100);
  for (ExampleTable* table : {&small, &large}) {
    table->adopt(std::make_unique<TokenShardSet>(open({0, 1, 2})));
    table->finish();
    EXPECT_EQ(table->rows(), 5u);
    EXPECT_THAT(table->read(3).token_ids, ElementsAre(7));
    EXPECT_EQ(table->source_row(3), 3u);
  }
  EXPECT_FALSE(small.spilled());
  EXPECT_TRUE(large.spilled());  // it is shuffled in blocks, as rows on disk are
}

}  // namespace
}  // namespace berth
