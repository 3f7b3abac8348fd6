#include "storage/formats/token_shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "storage/base/checksum.h"
#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"
#include "tests/support/token_shard_bytes.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Sequences = TokenSequences;

class TokenShards : public testing::Test {
 protected:
  std::vector<std::byte> write(const Sequences& sequences) const {
    return token_shard_bytes(info_, sequences);
  }
  static Sequences read(Bytes file) {
    const TokenShard shard(file);
    Sequences all(shard.sequences());
    for (uint32_t i = 0; i < shard.sequences(); ++i) shard.read(i, all[i]);
    return all;
  }
  // Writes a number into a copy of the file and makes the header's checksum match again.
  static std::vector<std::byte> forged(std::vector<std::byte> file, size_t at, uint32_t number) {
    std::memcpy(file.data() + at, &number, sizeof number);
    const uint32_t crc = crc32c(Bytes(file).first(72));
    std::memcpy(file.data() + 72, &crc, sizeof crc);
    return file;
  }

  TokenShardInfo info_{.tokenizer_checksum = 17,
                       .vocab_size = 100,
                       .max_seq_length = 5,
                       .index = 1,
                       .count = 3,
                       .total_sequences = 9,
                       .preparation = 0x123456789abcdef0};
  const Sequences sequences_ = {{1, 2, 3}, {99}, {4, 5, 6, 7, 8}};
};

TEST_F(TokenShards, AreReadAsTheyWereWritten) {
  const auto file = write(sequences_);
  EXPECT_EQ(file.size(), 80 + 4 * 4 + 2 * 9u);
  EXPECT_EQ(read(file), sequences_);
  EXPECT_EQ(TokenShard(file).info(), info_);
  EXPECT_THAT(read(write({})), IsEmpty());
}

TEST_F(TokenShards, OfALargeVocabularyHaveLongerIds) {
  info_.vocab_size = 65'536;
  EXPECT_EQ(read(write({{65'535}})), Sequences({{65'535}}));
  info_.vocab_size = 250'002;
  const auto file = write({{250'001, 0}});
  EXPECT_EQ(file.size(), 80 + 4 * 2 + 4 * 2u);
  EXPECT_EQ(read(file), Sequences({{250'001, 0}}));
}

TEST_F(TokenShards, NeedNoAlignment) {
  auto file = write(sequences_);
  file.insert(file.begin(), std::byte{0});
  EXPECT_EQ(read(Bytes(file).subspan(1)), sequences_);
}

TEST_F(TokenShards, EveryTruncationIsFound) {
  EXPECT_THAT(accepted_prefixes(write(sequences_), [](Bytes bytes) { read(bytes); }), IsEmpty());
  auto longer = write(sequences_);
  longer.push_back(std::byte{0});
  EXPECT_THAT([&] { read(longer); }, ThrowsCode(Code::kCorrupt, "says 114 bytes"));
}

TEST_F(TokenShards, EveryFlippedBitIsFound) {
  EXPECT_THAT(accepted_flips(write(sequences_), [](Bytes bytes) { read(bytes); }), IsEmpty());
}

TEST_F(TokenShards, TextIsNamed) {
  const std::string text = " = Title = \n";
  EXPECT_THAT([&] { read(std::as_bytes(std::span(text))); },
              ThrowsCode(Code::kCorrupt, "or call it .txt if it is text"));
}

TEST_F(TokenShards, AForgedHeaderIsFound) {
  const auto file = write(sequences_);
  const auto refuse = [&](size_t at, uint32_t number, const char* says) {
    const auto bytes = forged(file, at, number);
    EXPECT_THAT([&] { read(bytes); }, ThrowsCode(Code::kCorrupt, says)) << at;
  };
  refuse(8, 2, "version 2");
  refuse(12, 4, "another size");
  refuse(20, 99, "an id that its vocabulary lacks");
  refuse(24, 4, "sequence 2");
  refuse(28, 3, "beyond the number of shards");
  refuse(36, 4, "bytes");
  refuse(36, UINT32_MAX, "bytes");
  refuse(44, 1, "more ids");
}

TEST_F(TokenShards, OffsetsThatGoBackAreFound) {
  auto file = write({{1, 2}, {3, 4}});
  const uint32_t beyond = 5;
  std::memcpy(file.data() + 84, &beyond, sizeof beyond);
  file = forged(file, 64, crc32c(Bytes(file).subspan(80, 12)));
  EXPECT_THAT([&] { read(file); }, ThrowsCode(Code::kCorrupt, "sequence 1"));
}

TEST(TokenShardNames, EndInTokens) {
  EXPECT_TRUE(names_token_shard("mlm-00000-of-00002.tokens"));
  EXPECT_FALSE(names_token_shard("tokens.txt"));
}

}  // namespace
}  // namespace berth
