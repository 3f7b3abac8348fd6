#include "trainer/data/sentence_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "storage/base/error.h"
#include "tests/support/letter_tokenizer.h"
#include "tests/support/throws_code.h"
#include "trainer/data/batcher.h"

namespace berth {
namespace {

// Documents of sentences of these numbers of tokens.
struct Documents {
  explicit Documents(const std::vector<std::vector<uint32_t>>& documents) {
    for (const std::vector<uint32_t>& document : documents) {
      first.push_back(static_cast<uint32_t>(lengths.size()));
      lengths.insert(lengths.end(), document.begin(), document.end());
    }
    first.push_back(static_cast<uint32_t>(lengths.size()));
  }
  SentencePairs pairs(const SentencePairs::Options& options) const {
    return {options, lengths, first};
  }

  std::vector<uint32_t> lengths, first{};
};

Documents many(size_t documents) {
  std::vector<std::vector<uint32_t>> made(documents);
  for (size_t i = 0; i < documents; ++i) {
    for (size_t j = 0; j < 3 + i % 7; ++j) {
      made[i].push_back(static_cast<uint32_t>(1 + (i * 13 + j * 5) % 11));
    }
  }
  return Documents(made);
}

using Key = std::tuple<uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                       uint32_t, bool>;
Key key_of(const SentencePair& pair) {
  return {pair.first.document,  pair.first.begin,     pair.first.end,
          pair.second.document, pair.second.begin,    pair.second.end,
          pair.first.cut_front, pair.second.cut_back, pair.is_negative};
}
std::vector<Key> pass(SentencePairs& pairs, const MaskingRound& round) {
  pairs.begin(round);
  std::vector<Key> keys;
  for (int64_t i = 0; i < pairs.size(); ++i) keys.push_back(key_of(pairs.pair(i)));
  return keys;
}

TEST(SentencePairs, TakeEachSentenceOfADocumentOnceUntilAPassEnds) {
  const Documents documents = many(50);
  SentencePairs pairs = documents.pairs({.most_tokens = 24});
  pairs.begin(MaskingRound::of_evaluation());
  std::map<uint32_t, uint32_t> next;  // sentence of each document that is taken next
  for (int64_t i = 0; i < pairs.size(); ++i) {
    const SentencePair pair = pairs.pair(i);
    EXPECT_EQ(pair.first.document, pairs.document(i));
    EXPECT_EQ(pair.first.begin, next[pair.first.document]);
    EXPECT_LT(pair.first.begin, pair.first.end);
    EXPECT_LT(pair.second.begin, pair.second.end);
    if (pair.is_negative) {
      EXPECT_NE(pair.second.document, pair.first.document);
    } else {
      EXPECT_EQ(pair.second.document, pair.first.document);
      EXPECT_EQ(pair.second.begin, pair.first.end);
    }
    next[pair.first.document] = pair.is_negative ? pair.first.end : pair.second.end;
    const int64_t tokens = pairs.tokens(pair.first) + pairs.tokens(pair.second);
    EXPECT_LE(tokens, 24);
    EXPECT_GE(pairs.tokens(pair.first), 1);
    EXPECT_GE(pairs.tokens(pair.second), 1);
  }
  for (uint32_t d = 0; d < 50; ++d) EXPECT_EQ(next[d], documents.first[d + 1] - documents.first[d]);
}

TEST(SentencePairs, DependOnSeedAndEpochAlone) {
  const Documents documents = many(40);
  SentencePairs pairs = documents.pairs({.most_tokens = 24, .seed = 7});
  const std::vector<Key> first = pass(pairs, MaskingRound::of_epoch(0));
  const std::vector<Key> second = pass(pairs, MaskingRound::of_epoch(1));
  EXPECT_NE(first, second);
  EXPECT_EQ(first.size(), second.size());
  EXPECT_EQ(pass(pairs, MaskingRound::of_epoch(0)), first);
  SentencePairs again = documents.pairs({.most_tokens = 24, .seed = 7});
  EXPECT_EQ(pass(again, MaskingRound::of_epoch(1)), second);
  again.begin(MaskingRound::of_epoch(0));
  EXPECT_EQ(key_of(again.pair(17)), first[17]);  // in any order
  SentencePairs other = documents.pairs({.most_tokens = 24, .seed = 8});
  EXPECT_NE(pass(other, MaskingRound::of_epoch(0)), first);
  EXPECT_EQ(pass(other, MaskingRound::of_evaluation()), pass(pairs, MaskingRound::of_evaluation()));
}

TEST(SentencePairs, AreFromElsewhereInHalfOfTheCasesWhereADocumentHasMoreSentences) {
  const Documents documents(std::vector<std::vector<uint32_t>>(3000, {6, 6, 6, 6}));
  SentencePairs pairs = documents.pairs({.most_tokens = 24, .short_share = 0});
  std::map<bool, int64_t> whole;  // of pairs that begin with the first of all four sentences
  std::map<uint32_t, int64_t> sizes;
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    pairs.begin(MaskingRound::of_epoch(epoch));
    for (int64_t i = 0; i < pairs.size(); ++i) {
      const SentencePair& pair = pairs.pair(i);
      if (pair.first.begin > 0) continue;
      ++whole[pair.is_negative];
      ++sizes[pair.first.end];
    }
  }
  const auto all = static_cast<double>(whole[true] + whole[false]);
  EXPECT_NEAR(static_cast<double>(whole[true]) / all, 0.5, 0.02);
  for (const uint32_t size : {1u, 2u, 3u}) {
    EXPECT_NEAR(static_cast<double>(sizes[size]) / all, 1.0 / 3, 0.02) << size;
  }
}

// In half of the cases, the text behind the first one stands before it.
TEST(SentencePairs, ChangePlacesForSentenceOrder) {
  const Documents documents = many(400);
  SentencePairs pairs = documents.pairs({.most_tokens = 24, .swaps = true});
  int64_t swapped = 0, all = 0;
  std::map<uint32_t, uint32_t> next;  // sentence of each document that is taken next
  pairs.begin(MaskingRound::of_evaluation());
  for (int64_t i = 0; i < pairs.size(); ++i) {
    const SentencePair pair = pairs.pair(i);
    uint32_t& from = next[pairs.document(i)];
    if (pair.second.document != pair.first.document) {  // of one sentence alone
      EXPECT_TRUE(pair.is_negative);
      EXPECT_EQ(pair.first.begin, from);
      EXPECT_EQ(pair.first.end, ++from);
      continue;
    }
    const SentenceRun& earlier = pair.is_negative ? pair.second : pair.first;
    const SentenceRun& later = pair.is_negative ? pair.first : pair.second;
    EXPECT_EQ(earlier.begin, from);
    EXPECT_EQ(later.begin, earlier.end);
    EXPECT_LT(later.begin, later.end);
    EXPECT_LE(pairs.tokens(earlier) + pairs.tokens(later), 24);
    from = later.end;
    swapped += pair.is_negative ? 1 : 0;
    ++all;
  }
  EXPECT_NEAR(static_cast<double>(swapped) / static_cast<double>(all), 0.5, 0.05);
}

TEST(SentencePairs, OfOneDocumentInTenAreShorter) {
  const Documents documents(std::vector<std::vector<uint32_t>>(4000, std::vector<uint32_t>(64, 1)));
  SentencePairs pairs = documents.pairs({.most_tokens = 32, .negative_share = 0});
  std::set<uint32_t> shorter;
  for (int64_t i = 0; i < pairs.size(); ++i) {
    const SentencePair& pair = pairs.pair(i);
    if (pairs.tokens(pair.first) + pairs.tokens(pair.second) < 32) {
      shorter.insert(pair.first.document);
    }
  }
  // A target of 32 tokens, one of 31, is no shorter.
  EXPECT_NEAR(static_cast<double>(shorter.size()) / 4000, 0.1 * 30 / 31, 0.015);
}

TEST(SentencePairs, LoseTokensAtBothEndsOfTheLongerText) {
  const Documents documents({{40, 3}, {2, 50}, {9, 9}});
  SentencePairs pairs = documents.pairs({.most_tokens = 16, .short_share = 0, .negative_share = 0});
  bool has_front = false, has_back = false;
  for (int64_t epoch = 0; epoch < 4; ++epoch) {
    pairs.begin(MaskingRound::of_epoch(epoch));
    for (int64_t i = 0; i < pairs.size(); ++i) {
      const SentencePair& pair = pairs.pair(i);
      const int64_t first = pairs.tokens(pair.first), second = pairs.tokens(pair.second);
      EXPECT_LE(first + second, 16);
      has_front = has_front || pair.first.cut_front > 0;
      has_back = has_back || pair.first.cut_back > 0;
      if (pair.first.document != 0 || pair.is_negative) continue;
      EXPECT_EQ(first, 13);  // the second text has three tokens and keeps them
      EXPECT_EQ(second, 3);
    }
  }
  EXPECT_TRUE(has_front && has_back);
}

std::string problem_of(const std::vector<std::vector<uint32_t>>& documents) {
  try {
    Documents(documents).pairs({.most_tokens = 16});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBadData);
    return error.what();
  }
  return "";
}

TEST(SentencePairs, NeedTwoDocumentsAndOneOfTwoSentences) {
  EXPECT_NE(problem_of({{3, 4, 5}}).find("fewer than two documents"), std::string::npos);
  EXPECT_NE(problem_of({{3, 4, 5}, {}}).find("fewer than two documents"), std::string::npos);
  EXPECT_NE(problem_of({{3}, {4}}).find("every document is one sentence"), std::string::npos);
  EXPECT_EQ(problem_of({{3}, {}, {4, 4}}), "");
}

// Documents of letters, a sentence a line. [CLS] is 1, [SEP] 2, a 3.
class SentenceData : public testing::Test {
 protected:
  explicit SentenceData(size_t memory_bytes = ExampleTable::kMemoryBytes) : table_(memory_bytes) {
    for (int i = 0; i < 80; ++i) {
      std::string text;
      for (int j = 0; j <= 2 + i % 4; ++j) {
        for (int k = 0; k <= (i + j) % 6; ++k) text += static_cast<char>('a' + (i + j) % 26);
        text += j % 2 == 0 ? "\n" : " .\n\n";  // blank lines and lines without a token say nothing
        if (j == 1) text += "..\n";
      }
      table_.append({.texts = {text}});
    }
    table_.finish();
  }

  std::unique_ptr<Dataset> data(uint64_t seed = 42) {
    maker_ = make_feature_maker({.task = Task::kNextSentence, .max_seq_length = 16, .seed = seed},
                                tokenizer_);
    std::vector<uint32_t> rows(table_.rows());
    std::iota(rows.begin(), rows.end(), 0u);
    return std::make_unique<Dataset>(table_, rows, Task::kNextSentence, *maker_, true);
  }
  static std::vector<std::vector<int32_t>> epoch(Dataset& data, int64_t number) {
    data.begin(MaskingRound::of_epoch(number));
    std::vector<std::vector<int32_t>> ids;
    for (int64_t i = 0; i < data.size(); ++i) ids.push_back(data.features(i).input_ids);
    return ids;
  }

  LetterTokenizer tokenizer_;
  ExampleTable table_;
  std::unique_ptr<FeatureMaker> maker_;
};

TEST_F(SentenceData, PairsHaveTheFrameAndTheTypesOfThePairsOfTheTokenizer) {
  const auto made = data();
  const std::unique_ptr<Dataset> again = data();
  for (int64_t i = 0; i < made->size(); ++i) {
    const Features features = made->features(i);
    const std::vector<int32_t>& ids = features.input_ids;
    ASSERT_EQ(static_cast<int64_t>(ids.size()), made->length(i));
    ASSERT_LE(ids.size(), 16u);
    EXPECT_EQ(ids.front(), 1);
    EXPECT_EQ(ids.back(), 2);
    ASSERT_EQ(std::ranges::count(ids, 2), 2);
    const auto second = std::ranges::find(ids, 2) - ids.begin() + 1;
    for (size_t t = 0; t < ids.size(); ++t) {
      EXPECT_EQ(features.token_type_ids[t], static_cast<int64_t>(t) >= second ? 1 : 0) << t;
    }
    ASSERT_EQ(features.classes.size(), 1u);
    // The first text is of the row's document.
    const Example example = made->example(i);
    const std::string letter(1, static_cast<char>('a' + ids[1] - 3));
    EXPECT_NE(example.texts[0].find(letter), std::string::npos);
    EXPECT_EQ(again->features(i).input_ids, ids);
  }
}

TEST_F(SentenceData, AnEpochHasOtherPairsAndTheSameWheneverItIsBegun) {
  const auto made = data(), other = data(7);
  const auto first = epoch(*made, 0), second = epoch(*made, 1);
  EXPECT_NE(first, second);
  EXPECT_EQ(epoch(*made, 0), first);
  EXPECT_NE(epoch(*other, 0), first);
  EXPECT_EQ(epoch(*data(), 1), second);
  // Row numbers of another epoch do not change the round.
  made->begin(MaskingRound::of_epoch(1));
  std::vector<uint64_t> rows;
  for (int64_t i = 0; i < made->size(); ++i) rows.push_back(made->source_row(i));
  made->begin(MaskingRound::of_epoch(0));
  for (int64_t i = 0; i < made->size(); ++i) {
    EXPECT_EQ(made->source_row(i, 1), rows[static_cast<size_t>(i)]) << i;
  }
  EXPECT_EQ(made->features(3).input_ids, first[3]);
}

TEST_F(SentenceData, BatchesHaveTheClassOfEachPairBesideItsMasks) {
  const auto made = data();
  const Masking masking(tokenizer_, {});
  made->mask_with(masking);
  Batcher batcher({.batch_size = 8, .micro_batches = 2}, *made);
  for (DataCursor cursor; cursor.epoch < 2;) {
    const UpdateBatch update = batcher.next(cursor);
    for (const PackedBatch& batch : update.micro_batches) {
      const auto& masked = std::get<PackedBatch::MaskedTokens>(batch.labels);
      EXPECT_EQ(static_cast<int64_t>(masked.next_sentences.size()), batch.num_sequences());
      EXPECT_GE(static_cast<int64_t>(masked.tokens.size()), batch.num_sequences());
      EXPECT_TRUE(std::ranges::none_of(masked.ids, [](int32_t id) { return id < 3; }));
    }
    cursor = update.after;
  }
  // A batch depends on its cursor alone, and not on the batches before it.
  const DataCursor late{.epoch = 1, .index = 8};
  const UpdateBatch once = batcher.next(late);
  batcher.next({.epoch = 3});
  EXPECT_EQ(batcher.next(late).micro_batches[0].input_ids, once.micro_batches[0].input_ids);
}

class SpilledSentences : public SentenceData {
 protected:
  SpilledSentences() : SentenceData(/*memory_bytes=*/100) {}
};

TEST_F(SpilledSentences, MakeTheSamePairs) {
  ASSERT_TRUE(table_.spilled());
  ExampleTable in_memory;
  for (uint32_t row = 0; row < table_.rows(); ++row) in_memory.append(table_.read(row));
  in_memory.finish();
  const auto made = data();
  std::vector<uint32_t> rows(table_.rows());
  std::iota(rows.begin(), rows.end(), 0u);
  Dataset same(in_memory, rows, Task::kNextSentence, *maker_, true);
  EXPECT_EQ(epoch(*made, 2), epoch(same, 2));
  EXPECT_GT(made->memory_bytes(), 0u);
}

TEST_F(SentenceData, NeedRoomForATokenOfEachText) {
  maker_ = make_feature_maker({.task = Task::kNextSentence, .max_seq_length = 4}, tokenizer_);
  EXPECT_THAT(
      [&] {
        Dataset(table_, {0, 1, 2}, Task::kNextSentence, *maker_, true);
      },
      ThrowsCode(Code::kUsage, "--max-seq-length"));
}

}  // namespace
}  // namespace berth
