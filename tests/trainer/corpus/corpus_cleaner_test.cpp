#include "trainer/corpus/corpus_cleaner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kFox = "The quick brown fox jumps over the lazy dog near the river bank.";

class Cleaning : public testing::Test {
 protected:
  // The texts that are kept, cleaned in batches of `batch` documents.
  std::vector<std::string> clean(const std::vector<std::string>& texts, int threads = 1,
                                 size_t batch = 1000) {
    ThreadPool pool(threads);
    CorpusCleaner cleaner(options_, pool);
    std::vector<std::string> kept;
    for (size_t begin = 0; begin < texts.size(); begin += batch) {
      const size_t count = std::min(batch, texts.size() - begin);
      cleaner.clean(
          std::span(texts).subspan(begin, count),
          [&](size_t i) { return cat("document ", begin + i + 1); },
          [&](std::string_view text) { kept.emplace_back(text); });
    }
    report_ = cleaner.report();
    return kept;
  }
  uint64_t removed(CleaningRule rule) {
    return report_.removed[static_cast<size_t>(rule)].documents;
  }
  const std::vector<CleaningExample>& examples(CleaningRule rule) {
    return report_.examples[static_cast<size_t>(rule)];
  }

  CleaningOptions options_;
  CleaningReport report_;
};

TEST_F(Cleaning, EachRuleRemovesItsDocuments) {
  options_.max_length = 2000;
  options_.max_words = 100;
  std::string many;
  for (int i = 0; i < 101; ++i) many += cat("w", i * 7919 % 1000, " ");
  const auto kept = clean({"short", kFox, std::string(2001, 'x'), std::string(40, 'y'), many,
                           "4 8 15 16 23 42 108 4815162342 3.14159 2.71828 1.41421",
                           "spam and eggs spam and eggs spam and eggs spam and eggs", kFox,
                           "The quick brown fox jumps over the lazy dog near the river bank"});
  EXPECT_THAT(kept, ElementsAre(kFox));
  EXPECT_EQ(removed(CleaningRule::kTooShort), 1u);
  EXPECT_EQ(removed(CleaningRule::kTooLong), 1u);
  EXPECT_EQ(removed(CleaningRule::kTooFewWords), 1u);
  EXPECT_EQ(removed(CleaningRule::kTooManyWords), 1u);
  EXPECT_EQ(removed(CleaningRule::kTooFewLetters), 1u);
  EXPECT_EQ(removed(CleaningRule::kRepetitive), 1u);
  EXPECT_EQ(removed(CleaningRule::kDuplicate), 1u);
  EXPECT_EQ(removed(CleaningRule::kNearDuplicate), 1u);
  EXPECT_EQ(examples(CleaningRule::kTooShort)[0].because, "5 characters");
  EXPECT_EQ(examples(CleaningRule::kDuplicate)[0].where, "document 8");
  EXPECT_THAT(examples(CleaningRule::kNearDuplicate)[0].because,
              HasSubstr("similarity 1.00 to kept document 1"));
}

TEST_F(Cleaning, EachRuleCanBeTurnedOff) {
  options_ = {.normalizes = false,
              .min_length = 0,
              .min_words = 0,
              .min_letter_ratio = 0,
              .max_repetition = 0,
              .drops_duplicates = false,
              .near_duplicate_threshold = 0};
  const std::vector<std::string> texts = {"a", "a", "1", " b  b ", "c c c c c c c c c c c c c c"};
  EXPECT_EQ(clean(texts), texts);
  clean({""});  // but no document is empty
  EXPECT_EQ(removed(CleaningRule::kTooShort), 1u);
}

TEST_F(Cleaning, TextsAreNormalizedBeforeTheyAreCompared) {
  EXPECT_THAT(clean({" " + kFox + " ", kFox}), ElementsAre(kFox));
  EXPECT_EQ(removed(CleaningRule::kDuplicate), 1u);
  EXPECT_EQ(report_.changed.documents, 1u);
  EXPECT_EQ(report_.changes[0].because, kFox);
}

// Words at random from a small vocabulary, with copies and near copies.
std::vector<std::string> random_corpus(size_t count) {
  std::mt19937 random(3);
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    std::string text = i > 10 && random() % 4 == 0 ? texts[random() % i] : "";
    if (random() % 3 == 0) text += "  ";
    for (size_t words = text.empty() ? 5 + random() % 80 : random() % 3; words > 0; --words) {
      text += " w";
      for (size_t letters = 2; letters > 0; --letters) {
        text += static_cast<char>('a' + random() % 26);
      }
    }
    texts.push_back(text);
  }
  return texts;
}

TEST_F(Cleaning, ThreadsAndBatchesChangeNothing) {
  const auto texts = random_corpus(3000);
  const auto expected = clean(texts, 1, 3000);
  const std::string report = report_json(report_, options_);
  EXPECT_GT(removed(CleaningRule::kNearDuplicate), 50u);
  EXPECT_GT(removed(CleaningRule::kDuplicate), 50u);
  for (const int threads : {2, 3, 7}) {
    EXPECT_EQ(clean(texts, threads, 100 * static_cast<size_t>(threads)), expected);
    EXPECT_EQ(report_json(report_, options_), report);
  }
}

TEST_F(Cleaning, TheReportAddsUp) {
  clean(random_corpus(2000));
  const Json report = parse_json(report_json(report_, options_));
  uint64_t documents = report["kept"]["documents"].get<uint64_t>();
  for (const Json& rule : report["removed"]) documents += rule["documents"].get<uint64_t>();
  EXPECT_EQ(documents, report["read"]["documents"].get<uint64_t>());
  EXPECT_EQ(report["removed"]["near_duplicate"]["examples"].size(), 3u);
  EXPECT_EQ(report["removed"]["too_long"]["limit"], nullptr);
  EXPECT_EQ(report["removed"]["too_short"]["limit"], 32);
  EXPECT_LT(report["duplicate_search"]["bytes_per_kept_document"].get<uint64_t>(), 1000u);
  EXPECT_THAT(report_lines(report_).front(), HasSubstr("cleaned 2000 documents"));
}

TEST_F(Cleaning, ExcerptsAreCutBetweenCharacters) {
  std::string text = "x";
  for (int i = 0; i < 300; ++i) text += "\xC3\xA9";
  options_.min_words = 2;
  clean({text});
  const std::string& excerpt = examples(CleaningRule::kTooFewWords)[0].excerpt;
  EXPECT_EQ(excerpt.size() % 2, 1u);
  EXPECT_LE(excerpt.size(), 160u);
}

}  // namespace
}  // namespace berth
