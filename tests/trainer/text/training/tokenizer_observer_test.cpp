#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "tests/trainer/text/training/train.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::Gt;

constexpr size_t kGoal = 300;

// The numbers of pieces that a training of this type tells.
std::vector<size_t> told(TokenizerType type, size_t wanted = kGoal) {
  std::vector<size_t> told;
  TokenizerObserver observer;
  observer.on_pieces = [&](size_t pieces, size_t goal) {
    EXPECT_EQ(goal, wanted);
    told.push_back(pieces);
  };
  ThreadPool pool(2);
  train_tokenizer(read_rows(rows_of_many_words()), sized(static_cast<int64_t>(wanted), 1, type),
                  pool, observer);
  return told;
}

TEST(TokenizerObserver, MergesAddPieceAfterPieceUpToTheGoal) {
  for (const TokenizerType type : {TokenizerType::kWordPiece, TokenizerType::kBpe}) {
    const std::vector<size_t> pieces = told(type);
    ASSERT_THAT(pieces.size(), Gt(10u));
    for (size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(pieces[i], kGoal - pieces.size() + i);
  }
}

TEST(TokenizerObserver, UnigramRemovesCandidatesDownToAboutTheGoal) {
  const std::vector<size_t> pieces = told(TokenizerType::kUnigram, 60);
  ASSERT_THAT(pieces.size(), Gt(2u));
  EXPECT_TRUE(std::ranges::is_sorted(pieces, std::greater<>()));
  EXPECT_GT(pieces.front(), 100u);
  EXPECT_LE(pieces.back(), 66u);  // a tenth more, of which the best stay
}

TEST(TokenizerObserver, HearsOfTheTextsBeforeAnyPiece) {
  std::vector<uint64_t> rows;
  bool has_pieces = false;
  const TokenizerObserver observer{.on_words =
                                       [&](const TextStatistics& text, uint64_t distinct_words) {
                                         EXPECT_FALSE(has_pieces);
                                         EXPECT_EQ(distinct_words, 3u);
                                         rows.push_back(text.rows);
                                       },
                                   .on_pieces = [&](size_t, size_t) { has_pieces = true; }};
  ThreadPool pool(1);
  train_tokenizer(read_rows({"low lower", "low newest"}), sized(40), pool, observer);
  EXPECT_THAT(rows, ElementsAre(2u));
  EXPECT_TRUE(has_pieces);
}

TEST(TokenizerObserver, WhatItThrowsEndsTheTraining) {
  ThreadPool pool(2);
  for (const TokenizerType type :
       {TokenizerType::kWordPiece, TokenizerType::kBpe, TokenizerType::kUnigram}) {
    TokenizerObserver observer;
    observer.on_pieces = [](size_t, size_t) { throw std::runtime_error("stop"); };
    EXPECT_THROW(
        train_tokenizer(read_rows(rows_of_many_words()), sized(kGoal, 1, type), pool, observer),
        std::runtime_error);
  }
}

}  // namespace
}  // namespace berth
