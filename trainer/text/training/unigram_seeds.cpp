#include "trainer/text/training/unigram_seeds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>

#include "trainer/text/training/scripts.h"

namespace berth {

namespace {

// A Follower as a sign in the text, which is no code point.
constexpr char32_t kFirstSign = 0x110000;
constexpr char32_t sign_of(Follower follower) {
  return kFirstSign + static_cast<char32_t>(follower);
}

// The text of all words, each followed by the sign of its Follower, and its suffixes.
struct Suffixes {
  struct Suffix {
    uint32_t begin, word;
  };
  std::u32string text;
  std::vector<Suffix> sorted;

  // The part of a suffix that matters: it ends with its word, the sign included, or one character
  // after the length of the longest piece.
  std::u32string_view at(size_t i) const {
    size_t size = 0;
    const char32_t* const begin = text.data() + sorted[i].begin;
    while (size <= kLongestPiece && begin[size++] < kFirstSign) {
    }
    return {begin, size};
  }
};

Suffixes sorted_suffixes(const UnigramWords& words) {
  Suffixes suffixes;
  suffixes.text.reserve(words.characters.size() + words.size());
  for (uint32_t i = 0; i < words.size(); ++i) {
    for (const char32_t c : words.word(i)) {
      suffixes.sorted.push_back({static_cast<uint32_t>(suffixes.text.size()), i});
      suffixes.text.push_back(c);
    }
    suffixes.text.push_back(sign_of(words.followers[i]));
  }
  std::sort(suffixes.sorted.begin(), suffixes.sorted.end(),
            [text = suffixes.text.data()](Suffixes::Suffix a, Suffixes::Suffix b) {
              for (size_t i = 0; i <= kLongestPiece; ++i) {
                const char32_t left = text[a.begin + i], right = text[b.begin + i];
                if (left != right) return left < right;
                if (left >= kFirstSign) return false;
              }
              return false;
            });
  return suffixes;
}

size_t common_prefix(std::u32string_view a, std::u32string_view b) {
  const auto end = std::mismatch(
      a.begin(), a.begin() + static_cast<ptrdiff_t>(std::min(a.size(), b.size())), b.begin());
  return static_cast<size_t>(end.first - a.begin());
}

struct Substring {
  std::u32string_view text;
  uint64_t coverage;  // characters that its occurrences cover
};

// Visits the inner nodes of the suffix tree, which are the intervals of sorted suffixes with a
// common prefix: visit(prefix, occurrences).
template <typename Visit>
void visit_repeated(const Suffixes& suffixes, const UnigramWords& words, Visit visit) {
  struct Open {
    size_t length;
    uint64_t occurrences_before;
  };
  std::vector<Open> open;
  uint64_t occurrences = 0;  // of the suffixes before suffix i
  for (size_t i = 1; i <= suffixes.sorted.size(); ++i) {
    const std::u32string_view before = suffixes.at(i - 1);
    const size_t common = i == suffixes.sorted.size() ? 0 : common_prefix(before, suffixes.at(i));
    uint64_t first = occurrences;
    occurrences += words.counts[suffixes.sorted[i - 1].word];
    for (; !open.empty() && open.back().length > common; open.pop_back()) {
      first = open.back().occurrences_before;
      visit(before.substr(0, open.back().length), occurrences - first);
    }
    if (common > 0 && (open.empty() || open.back().length < common)) {
      open.push_back({common, first});
    }
  }
}

}  // namespace

std::vector<UnigramPiece> unigram_seeds(const UnigramWords& words, size_t most) {
  const Suffixes suffixes = sorted_suffixes(words);
  std::vector<Substring> substrings;
  visit_repeated(suffixes, words, [&](std::u32string_view text, uint64_t occurrences) {
    if (text.size() < 2 || text.back() >= kFirstSign || !is_unigram_piece(text)) return;
    substrings.push_back({text, occurrences * text.size()});
  });
  std::sort(substrings.begin(), substrings.end(), [](const Substring& a, const Substring& b) {
    return a.coverage != b.coverage ? a.coverage > b.coverage : a.text < b.text;
  });
  substrings.resize(std::min(substrings.size(), most));
  std::unordered_map<char32_t, uint64_t> counts;
  for (size_t i = 0; i < words.size(); ++i) {
    for (const char32_t c : words.word(i)) counts[c] += words.counts[i];
  }
  std::vector<UnigramPiece> seeds;
  double total = 0;
  const auto add = [&](std::u32string_view text, uint64_t coverage) {
    seeds.push_back({std::u32string(text), static_cast<double>(coverage)});
    total += static_cast<double>(coverage);
  };
  for (const char32_t c : words.alphabet) add(std::u32string(1, c), counts[c]);
  for (const Substring& substring : substrings) add(substring.text, substring.coverage);
  for (UnigramPiece& seed : seeds) seed.score = std::log(seed.score) - std::log(total);
  return seeds;
}

}  // namespace berth
