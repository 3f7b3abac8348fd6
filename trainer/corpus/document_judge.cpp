#include "trainer/corpus/document_judge.h"

#include <cstdio>

#include "storage/base/counted.h"
#include "trainer/corpus/clean_text.h"

namespace berth {
namespace {

std::string two_digits(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", share);
  return text;
}

bool is_below(uint64_t count, int64_t limit) {
  return limit > 0 && count < static_cast<uint64_t>(limit);
}

bool is_above(uint64_t count, int64_t limit) {
  return limit > 0 && count > static_cast<uint64_t>(limit);
}

}  // namespace

void DocumentJudge::apply_rules(JudgedDocument& judged) {
  const auto remove = [&](CleaningRule rule, std::string because) {
    judged.rule = rule;
    judged.because = std::move(because);
  };
  const TextMeasures measures = find_words(judged.text, words_);
  const uint64_t length = measures.characters;
  if (length == 0 || is_below(length, options_.min_length)) {
    return remove(CleaningRule::kTooShort, counted(length, "character"));
  }
  if (is_above(length, options_.max_length)) {
    return remove(CleaningRule::kTooLong, counted(length, "character"));
  }
  if (is_below(words_.size(), options_.min_words)) {
    return remove(CleaningRule::kTooFewWords, counted(words_.size(), "word"));
  }
  if (is_above(words_.size(), options_.max_words)) {
    return remove(CleaningRule::kTooManyWords, counted(words_.size(), "word"));
  }
  const double letter_ratio = measures.visible == 0 ? 0
                                                    : static_cast<double>(measures.letters) /
                                                          static_cast<double>(measures.visible);
  if (letter_ratio < options_.min_letter_ratio) {
    return remove(CleaningRule::kTooFewLetters, "letters " + two_digits(letter_ratio));
  }
  if (options_.max_repetition > 0) {
    const auto found = repetition_.find(judged.text, words_, options_.max_repetition);
    if (found) remove(CleaningRule::kRepetitive, found->of + " " + two_digits(found->share));
  }
}

void DocumentJudge::judge(std::string_view text, JudgedDocument& judged) {
  judged.rule.reset();
  judged.because.clear();
  if (options_.normalizes) {
    clean_text(text, judged.text);
  } else {
    judged.text = text;
  }
  apply_rules(judged);
  if (judged.rule) return;
  if (options_.drops_duplicates) judged.hash = hash_text(judged.text);
  if (options_.near_duplicate_threshold > 0 && !words_.empty()) judged.sketch = hasher_.of(words_);
}

}  // namespace berth
