#include "trainer/corpus/document_judge.h"

#include <algorithm>
#include <bit>

#include "storage/base/text.h"
#include "trainer/corpus/clean_text.h"
#include "trainer/corpus/duplicates.h"

namespace berth {
namespace {

constexpr double kLines = 0.30, kLineCharacters = 0.20;
constexpr size_t kShortestRepeated = 5, kLongestRepeated = 10;
constexpr size_t kFewestWordsForTop = 50;

double limit_of(size_t n) {
  if (n < kShortestRepeated) return 0.20 - 0.02 * static_cast<double>(n - 2);
  return 0.15 - 0.01 * static_cast<double>(n - kShortestRepeated);
}

double ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : std::min(1.0, static_cast<double>(part) / static_cast<double>(whole));
}

}  // namespace

void RepetitionMeter::Counts::clear(size_t most) {
  const size_t wanted = std::bit_ceil(2 * most + 1);
  if (slots_.size() < wanted) slots_.assign(wanted, {0, 0, 0});
  mask_ = wanted - 1;
  if (++round_ == 0) {  // after 2^32 texts, old rounds could be taken for this one
    std::fill(slots_.begin(), slots_.end(), Slot{0, 0, 0});
    round_ = 1;
  }
}

uint32_t RepetitionMeter::Counts::add(uint64_t hash) {
  size_t place = hash & mask_;
  while (slots_[place].round == round_ && slots_[place].hash != hash) place = (place + 1) & mask_;
  if (slots_[place].round != round_) slots_[place] = {hash, round_, 0};
  return ++slots_[place].count;
}

// Calls use(index of the first word, count of this n-gram so far).
template <typename Use>
void RepetitionMeter::for_each_ngram(std::span<const Word> words, size_t n, const Use& use) {
  constexpr uint64_t kBase = 0xD1342543DE82EF95;
  if (words.size() < n) return;
  counts_.clear(words.size() - n + 1);
  uint64_t highest = 1;  // kBase^n
  for (size_t i = 0; i < n; ++i) highest *= kBase;
  uint64_t rolling = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    rolling = rolling * kBase + words[i].hash;
    if (i >= n) rolling -= words[i - n].hash * highest;
    if (i + 1 >= n) use(i + 1 - n, counts_.add(mixed(rolling)));
  }
}

uint64_t RepetitionMeter::characters_of_top(std::span<const Word> words, size_t n) {
  uint64_t top = 0;
  for_each_ngram(words, n, [&](size_t first, uint32_t count) {
    if (count < 2) return;
    uint64_t characters = 0;
    for (const Word& word : words.subspan(first, n)) characters += word.characters;
    top = std::max(top, characters * count);
  });
  return top;
}

uint64_t RepetitionMeter::characters_repeated(std::span<const Word> words, size_t n) {
  uint64_t characters = 0;
  size_t counted = 0;  // the words before it are counted, or in no repeated n-gram
  for_each_ngram(words, n, [&](size_t first, uint32_t count) {
    if (count < 2) return;
    for (counted = std::max(counted, first); counted < first + n; ++counted) {
      characters += words[counted].characters;
    }
  });
  return characters;
}

std::optional<Repetition> RepetitionMeter::find_lines(std::string_view text, double scale) {
  if (text.find('\n') == std::string_view::npos) return std::nullopt;
  const auto line_count = static_cast<size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  counts_.clear(line_count);
  uint64_t repeated = 0, characters = 0;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (counts_.add(hash_text(line).low) > 1) {
      ++repeated;
      characters += line.size();
    }
    at = end + 1;
  }
  const double share = ratio(repeated, line_count);
  if (share > kLines * scale) return Repetition{share, "lines"};
  const double share_of_text = ratio(characters, text.size());
  if (share_of_text > kLineCharacters * scale) {
    return Repetition{share_of_text, "characters in repeated lines"};
  }
  return std::nullopt;
}

std::optional<Repetition> RepetitionMeter::find(std::string_view text, std::span<const Word> words,
                                                double largest_share) {
  const double scale = largest_share / kGopher;
  if (std::optional<Repetition> found = find_lines(text, scale)) return found;
  uint64_t characters = 0;
  for (const Word& word : words) characters += word.characters;
  if (words.size() >= kFewestWordsForTop) {
    for (size_t n = 2; n < kShortestRepeated; ++n) {
      const uint64_t top = characters_of_top(words, n);
      if (top == 0) return std::nullopt;  // no n-gram, and no longer one, occurs twice
      const double share = ratio(top, characters);
      if (share > limit_of(n) * scale) return Repetition{share, cat("the ", n, "-gram")};
    }
  }
  for (size_t n = kShortestRepeated; n <= kLongestRepeated; ++n) {
    const uint64_t repeated = characters_repeated(words, n);
    if (repeated == 0) break;
    const double share = ratio(repeated, characters);
    if (share > limit_of(n) * scale) return Repetition{share, cat("repeated ", n, "-grams")};
  }
  return std::nullopt;
}

namespace {

std::string two_digits(double share) { return formatted("%.2f", share); }

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
