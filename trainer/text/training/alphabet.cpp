#include "trainer/text/training/alphabet.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "trainer/text/unicode.h"

namespace berth {

std::vector<char32_t> alphabet_of(const ShardedWordTable& words, size_t most) {
  std::unordered_map<char32_t, uint64_t> counts;
  for (size_t i = 0; i < ShardedWordTable::kShards; ++i) {
    const WordTable& shard = words.shard(i);
    for (const WordTable::Entry& entry : shard.entries()) {
      std::string_view rest = shard.word(entry);
      while (!rest.empty()) {
        const DecodedCharacter next = decode_utf8(rest);
        counts[next.code_point] += entry.count;
        rest.remove_prefix(next.size_bytes);
      }
    }
  }
  std::vector<std::pair<char32_t, uint64_t>> sorted(counts.begin(), counts.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  sorted.resize(std::min(sorted.size(), most));
  std::vector<char32_t> alphabet;
  for (const auto& [character, count] : sorted) alphabet.push_back(character);
  std::sort(alphabet.begin(), alphabet.end());
  return alphabet;
}

}  // namespace berth
