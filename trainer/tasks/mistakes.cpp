#include "trainer/tasks/mistakes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "storage/base/text.h"

namespace berth {
namespace {

// The first bytes of `text`, up to the end of a character.
std::string cut(const std::string& text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

// The words around number `word`, joined by blanks.
std::string sentence_around(const std::vector<std::string>& words, size_t word) {
  constexpr size_t kBefore = 12, kAfter = 24;
  const size_t begin = word > kBefore ? word - kBefore : 0;
  const size_t end = std::min(words.size(), word + kAfter);
  std::string sentence = begin > 0 ? "…" : "";
  for (size_t i = begin; i < end && sentence.size() < WorstMistakes::kTextBytes; ++i) {
    sentence += (sentence.empty() ? "" : " ") + cut(words[i], WorstMistakes::kTextBytes);
  }
  return end < words.size() ? sentence + " …" : sentence;
}

}  // namespace

bool WorstMistakes::is_worse(const Found& a, const Found& b) {
  if (a.badness != b.badness) return a.badness > b.badness;
  return std::pair(a.index, a.word) < std::pair(b.index, b.word);
}

bool WorstMistakes::wants(double badness) const {
  return std::isfinite(badness) && (found_.size() < kMost || badness > found_.front().badness);
}

void WorstMistakes::add(double badness, int64_t index, std::string truth, std::string prediction,
                        int64_t word) {
  if (!wants(badness)) return;
  if (found_.size() == kMost) {
    std::ranges::pop_heap(found_, is_worse);
    found_.pop_back();
  }
  found_.push_back({badness, index, word, cut(truth, kTextBytes), cut(prediction, kTextBytes)});
  std::ranges::push_heap(found_, is_worse);
}

std::vector<Mistake> WorstMistakes::with_texts(const Dataset& data) const {
  std::vector<Found> sorted = found_;
  std::ranges::sort(sorted, is_worse);
  std::vector<Mistake> mistakes;
  for (const Found& found : sorted) {
    const Example example = data.example(found.index);
    Mistake& mistake = mistakes.emplace_back(
        Mistake{.id = example.id.empty() ? std::to_string(data.source_row(found.index))
                                         : cut(example.id, kTextBytes),
                .truth = found.truth,
                .prediction = found.prediction,
                .badness = found.badness});
    const auto word = static_cast<size_t>(found.word);
    if (found.word >= 0 && word < example.texts.size()) {
      mistake.texts = {cut(example.texts[word], kTextBytes), sentence_around(example.texts, word)};
      continue;
    }
    for (const std::string& text : example.texts) mistake.texts.push_back(cut(text, kTextBytes));
  }
  return mistakes;
}

}  // namespace berth
