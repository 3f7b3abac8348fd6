#include "trainer/text/training/unigram_words.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "trainer/text/training/training_words.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

struct CountedWord {
  std::string_view word;
  uint64_t count;
};

std::vector<CountedWord> most_frequent(const ShardedWordTable& words, size_t most) {
  std::vector<CountedWord> counted;
  counted.reserve(words.size());
  for (size_t i = 0; i < ShardedWordTable::kShards; ++i) {
    const WordTable& shard = words.shard(i);
    for (const WordTable::Entry& entry : shard.entries()) {
      counted.push_back({shard.word(entry), entry.count});
    }
  }
  std::sort(counted.begin(), counted.end(), [](const CountedWord& a, const CountedWord& b) {
    return a.count != b.count ? a.count > b.count : a.word < b.word;
  });
  counted.resize(std::min(counted.size(), most));
  return counted;
}

template <typename Visit>
void visit_characters(std::string_view word, Visit visit) {
  while (!word.empty()) {
    const DecodedCharacter next = decode_utf8(word);
    visit(next.code_point);
    word.remove_prefix(next.size_bytes);
  }
}

std::vector<char32_t> covering_alphabet(const std::vector<CountedWord>& words, double coverage) {
  std::unordered_map<char32_t, uint64_t> counts;
  uint64_t total = 0;
  for (const auto& [word, count] : words) {
    visit_characters(word, [&, times = count](char32_t c) {
      if (c == kRowEndByte) return;
      counts[c] += times;
      total += times;
    });
  }
  std::vector<std::pair<char32_t, uint64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<char32_t> alphabet;
  uint64_t covered = 0;
  for (const auto& [c, count] : sorted) {
    if (static_cast<double>(covered) >= coverage * static_cast<double>(total)) break;
    alphabet.push_back(c);
    covered += count;
  }
  return alphabet;
}

}  // namespace

UnigramWords unigram_words(ShardedWordTable words, size_t most, double coverage) {
  const std::vector<CountedWord> counted = most_frequent(words, most);
  UnigramWords cut;
  cut.alphabet = covering_alphabet(counted, coverage);
  const std::unordered_set<char32_t> known(cut.alphabet.begin(), cut.alphabet.end());
  for (const auto& [word, count] : counted) {
    size_t begin = cut.characters.size();
    const auto end_word = [&, times = count](Follower follower) {
      if (cut.characters.size() == begin) return;
      begin = cut.characters.size();
      cut.ends.push_back(begin);
      cut.counts.push_back(times);
      cut.followers.push_back(follower);
    };
    visit_characters(word, [&](char32_t c) {
      if (known.contains(c)) cut.characters.push_back(c);
      if (!known.contains(c) || cut.characters.size() - begin == kLongestWord) {
        end_word(c == kRowEndByte ? Follower::kRowEnd : Follower::kOther);
      }
    });
    end_word(Follower::kSpace);
  }
  return cut;
}

}  // namespace berth
