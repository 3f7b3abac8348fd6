#include <gtest/gtest.h>

#include "entrypoint/modes/tokenizers.h"
#include "tests/support/captured_log.h"

namespace berth {
namespace {

class TokenizerProgressTest : public testing::Test {
 protected:
  double now_s_ = 100;
  CapturedLog log_;
  TokenizerProgress progress_{LogPace(30, [this] { return now_s_; })};
};

TEST_F(TokenizerProgressTest, ShortPhasesSayNothing) {
  progress_.on_texts(10, 1000);
  now_s_ += 29;
  progress_.on_texts(10, 1000);
  progress_.on_pieces(100, 200);
  EXPECT_EQ(log_.lines(), "");
}

TEST_F(TokenizerProgressTest, SaysAtIntervalsWhatWasReadSoFar) {
  progress_.on_texts(10, 1 << 20);
  now_s_ += 32;
  progress_.on_texts(20, 31 << 20);
  progress_.on_texts(1, 1);
  EXPECT_EQ(log_.lines(), "tokenizer: read 32.0 MiB in 30 texts, 1.0 MiB a second\n");
}

TEST_F(TokenizerProgressTest, SaysHowManyPiecesThereAre) {
  now_s_ += 31;
  progress_.on_pieces(1500, 30522);
  progress_.on_pieces(1501, 30522);
  now_s_ += 31;
  progress_.on_pieces(20000, 30522);
  EXPECT_EQ(log_.lines(), "tokenizer: 1500 of 30522 pieces\ntokenizer: 20000 of 30522 pieces\n");
}

TEST_F(TokenizerProgressTest, CandidatesAreMoreThanThePieces) {
  now_s_ += 31;
  progress_.on_pieces(900'000, 32'000);
  EXPECT_EQ(log_.lines(), "tokenizer: 900000 candidates are left for 32000 pieces\n");
}

}  // namespace
}  // namespace berth
