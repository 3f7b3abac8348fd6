#include "trainer/text/training/merge_pairs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <queue>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trainer/text/bert_tokenizer.h"
#include "trainer/text/split_text.h"
#include "trainer/text/training/tokenizer_files.h"
#include "trainer/text/training/train_kinds.h"
#include "trainer/text/training/word_counts.h"
#include "trainer/text/unicode.h"
#include "trainer/text/word_model.h"

namespace berth {
namespace {

// What a merge trainer knows of each pair of neighbors: an open-addressing hash table from two ids
// to a record. Records are numbered from 0 in the order of their creation and never move to another
// number. Not thread-safe.
class PairCounts {
 public:
  struct Pair {
    int32_t left, right;
    uint64_t count = 0;             // occurrences in the text
    uint64_t queued = 0;            // the count by which the pair is in the queue; 0: it is not
    std::vector<uint32_t> words{};  // those it occurs in, or occurred in
  };

  // Returns the number of the pair's record, which is created if it is absent.
  uint32_t number(int32_t left, int32_t right);

  Pair& operator[](uint32_t number) { return pairs_[number]; }
  size_t size() const { return pairs_.size(); }

 private:
  static size_t hash(int32_t left, int32_t right);
  void grow();

  std::vector<Pair> pairs_;
  std::vector<uint32_t> slots_;  // number + 1, or 0; a power of two, at most half of them are used
};

size_t PairCounts::hash(int32_t left, int32_t right) {
  const uint64_t pair =
      static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  const uint64_t mixed = pair * 0x9E3779B97F4A7C15;
  return static_cast<size_t>(mixed ^ mixed >> 32);
}

uint32_t PairCounts::number(int32_t left, int32_t right) {
  if (2 * (pairs_.size() + 1) > slots_.size()) grow();
  const size_t mask = slots_.size() - 1;
  size_t slot = hash(left, right) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Pair& pair = pairs_[slots_[slot] - 1];
    if (pair.left == left && pair.right == right) return slots_[slot] - 1;
  }
  pairs_.push_back({left, right});
  slots_[slot] = static_cast<uint32_t>(pairs_.size());
  return slots_[slot] - 1;
}

void PairCounts::grow() {
  slots_.assign(std::max<size_t>(1024, 2 * slots_.size()), 0);
  const size_t mask = slots_.size() - 1;
  for (size_t i = 0; i < pairs_.size(); ++i) {
    size_t slot = hash(pairs_[i].left, pairs_[i].right) & mask;
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = static_cast<uint32_t>(i + 1);
  }
}

// Returns the characters of the words, in the order of their code points: the `most` characters
// that occur most often. If characters occur equally often, the smaller code points are taken.
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

}  // namespace

int32_t PieceList::add(std::string piece) {
  const auto [found, is_new] = ids_.emplace(piece, static_cast<int32_t>(pieces_.size()));
  if (is_new) pieces_.push_back(std::move(piece));
  return found->second;
}

int32_t PieceList::find(std::string_view piece) const {
  const auto found = ids_.find(std::string(piece));
  return found == ids_.end() ? -1 : found->second;
}

int32_t PieceList::join(int32_t left, int32_t right) {
  std::string piece = pieces_[static_cast<size_t>(left)];
  std::string_view rest = pieces_[static_cast<size_t>(right)];
  if (rest.starts_with(prefix_)) rest.remove_prefix(prefix_.size());
  piece += rest;
  return add(std::move(piece));
}

namespace {

struct QueuedPair {
  uint64_t count;
  int32_t left, right;
  uint32_t number;

  // Whether `other` is merged first.
  bool operator<(const QueuedPair& other) const {
    return std::tie(count, other.left, other.right) < std::tie(other.count, left, right);
  }
};

class MergeTrainer {
 public:
  explicit MergeTrainer(SymbolWords words) : words_(std::move(words)) {
    sizes_.resize(words_.ends.size());
    for (uint32_t word = 0; word < sizes_.size(); ++word) {
      const uint64_t begin = begin_of(word);
      sizes_[word] = static_cast<uint32_t>(words_.ends[word] - begin);
      for (uint64_t i = begin; i + 1 < words_.ends[word]; ++i) {
        count(words_.symbols[i], words_.symbols[i + 1], word);
      }
    }
    for (uint32_t number = 0; number < pairs_.size(); ++number) enqueue(number);
  }

  // Returns the number of the most frequent pair, or nullopt if none occurs `least` times.
  bool next(uint64_t least, uint32_t& number) {
    while (!queue_.empty()) {
      const QueuedPair top = queue_.top();
      queue_.pop();
      PairCounts::Pair& pair = pairs_[top.number];
      if (top.count != pair.queued) continue;  // another entry took its place
      pair.queued = 0;
      if (top.count != pair.count) {
        enqueue(top.number);
        continue;
      }
      number = top.number;
      return pair.count >= least;
    }
    return false;
  }

  std::pair<int32_t, int32_t> pair(uint32_t number) {
    return {pairs_[number].left, pairs_[number].right};
  }

  // Replaces the pair by `merged` in all words.
  void merge(uint32_t number, int32_t merged) {
    const std::vector<uint32_t> affected = std::move(pairs_[number].words);
    for (const uint32_t word : affected) merge_in(word, pair(number), merged);
    pairs_[number].count = 0;
    pairs_[number].words = {};
    for (const uint32_t grown : grown_) {
      if (pairs_[grown].count != pairs_[grown].queued) enqueue(grown);
    }
    grown_.clear();
  }

 private:
  uint64_t begin_of(uint32_t word) const { return word == 0 ? 0 : words_.ends[word - 1]; }

  // Counts the occurrences of a pair at one place of a word.
  uint32_t count(int32_t left, int32_t right, uint32_t word) {
    const uint32_t number = pairs_.number(left, right);
    PairCounts::Pair& pair = pairs_[number];
    pair.count += words_.counts[word];
    if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
    return number;
  }

  void discount(int32_t left, int32_t right, uint32_t word) {
    pairs_[pairs_.number(left, right)].count -= words_.counts[word];
  }

  void enqueue(uint32_t number) {
    PairCounts::Pair& pair = pairs_[number];
    if (pair.count == 0) return;
    pair.queued = pair.count;
    queue_.push({pair.count, pair.left, pair.right, number});
  }

  // Merges the pair in one word, from left to right, and counts its new neighbors.
  void merge_in(uint32_t word, std::pair<int32_t, int32_t> pair, int32_t merged) {
    int32_t* const symbols = words_.symbols.data() + begin_of(word);
    const uint32_t size = sizes_[word];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < size; ++i) {
      if (i + 1 == size || symbols[i] != pair.first || symbols[i + 1] != pair.second) {
        symbols[kept++] = symbols[i];
        continue;
      }
      if (kept > 0) {
        discount(symbols[kept - 1], pair.first, word);
        grown_.push_back(count(symbols[kept - 1], merged, word));
      }
      if (i + 2 < size) {
        discount(pair.second, symbols[i + 2], word);
        grown_.push_back(count(merged, symbols[i + 2], word));
      }
      symbols[kept++] = merged;
      ++i;
    }
    sizes_[word] = kept;
  }

  SymbolWords words_;
  std::vector<uint32_t> sizes_;  // of each word, in symbols
  PairCounts pairs_;
  std::priority_queue<QueuedPair> queue_;
  std::vector<uint32_t> grown_;  // pairs that the current merge made
};

}  // namespace

std::vector<std::pair<int32_t, int32_t>> merge_pairs(SymbolWords words, size_t most_pieces,
                                                     uint64_t min_frequency, PieceList& pieces,
                                                     const OnPieces& on_pieces) {
  MergeTrainer trainer(std::move(words));
  std::vector<std::pair<int32_t, int32_t>> merges;
  const uint64_t least = std::max<uint64_t>(1, min_frequency);
  for (uint32_t number; pieces.size() < most_pieces && trainer.next(least, number);) {
    if (on_pieces) on_pieces(pieces.size(), most_pieces);
    const auto [left, right] = trainer.pair(number);
    merges.emplace_back(left, right);
    trainer.merge(number, pieces.join(left, right));
  }
  return merges;
}

namespace {

// The most characters of the alphabet. Rarer characters become [UNK].
constexpr size_t kMostCharacters = 1000;
constexpr const char* kBertTokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

// The ids of the pieces of one character: at the beginning of a word and inside it.
struct CharacterIds {
  int32_t first = -1, inside = -1;
};
using Alphabet = std::unordered_map<char32_t, CharacterIds>;

template <typename Visit>
void for_each_character_of(std::string_view word, Visit visit) {
  bool is_first = true;
  while (!word.empty()) {
    const DecodedCharacter next = decode_utf8(word);
    visit(next.code_point, is_first);
    is_first = false;
    word.remove_prefix(next.size_bytes);
  }
}

// Adds the pieces of one character: the whole alphabet, and then, with the prefix, the characters
// that occur inside words.
Alphabet add_characters(const ShardedWordTable& words, const std::string& prefix,
                        PieceList& pieces) {
  Alphabet alphabet;
  const std::vector<char32_t> characters = alphabet_of(words, kMostCharacters);
  for (const char32_t c : characters) alphabet[c].first = pieces.add(to_utf8(c));
  std::vector<char32_t> inside;
  for (size_t i = 0; i < ShardedWordTable::kShards; ++i) {
    const WordTable& shard = words.shard(i);
    for (const WordTable::Entry& entry : shard.entries()) {
      for_each_character_of(shard.word(entry), [&](char32_t c, bool is_first) {
        const auto found = alphabet.find(c);
        if (is_first || found == alphabet.end() || found->second.inside == 0) return;
        found->second.inside = 0;
        inside.push_back(c);
      });
    }
  }
  std::sort(inside.begin(), inside.end());
  for (const char32_t c : inside) alphabet[c].inside = pieces.add(prefix + to_utf8(c));
  return alphabet;
}

// Cuts the words into symbols: add_symbols(word, symbols) appends the symbols of one word.
template <typename AddSymbols>
SymbolWords cut_words(ShardedWordTable words, const AddSymbols& add_symbols) {
  SymbolWords cut;
  cut.ends.reserve(words.size());
  cut.counts.reserve(words.size());
  cut.symbols.reserve(words.word_bytes());
  for (size_t i = 0; i < ShardedWordTable::kShards; ++i) {
    WordTable& shard = words.shard(i);
    for (const WordTable::Entry& entry : shard.entries()) {
      add_symbols(shard.word(entry), cut.symbols);
      cut.end_word(entry.count);
    }
    shard = WordTable();
  }
  return cut;
}

// Cuts the words into pieces of one character. Characters outside the alphabet are left out.
SymbolWords cut_into_characters(ShardedWordTable words, const Alphabet& alphabet) {
  return cut_words(std::move(words), [&](std::string_view word, std::vector<int32_t>& symbols) {
    for_each_character_of(word, [&](char32_t c, bool is_first) {
      const auto found = alphabet.find(c);
      if (found == alphabet.end()) return;
      symbols.push_back(is_first ? found->second.first : found->second.inside);
    });
  });
}

}  // namespace

TrainedVocabulary train_wordpiece(ShardedWordTable words, const TokenizerTrainingOptions& options,
                                  const OnPieces& on_pieces) {
  const WordPieceOptions wordpiece_options;
  const std::string& prefix = wordpiece_options.continuing_subword_prefix;
  PieceList pieces(prefix);
  BertTokenizerOptions bert;
  bert.lowercase = options.lowercase.value_or(true);
  for (const char* token : kBertTokens) {
    AddedToken& added = bert.added_tokens.emplace_back();
    added.content = token;
    added.id = pieces.add(token);
  }
  const size_t num_special = pieces.size();
  const Alphabet alphabet = add_characters(words, prefix, pieces);
  require_room(vocab_size_of(options), num_special, pieces.size() - num_special);
  merge_pairs(cut_into_characters(std::move(words), alphabet),
              static_cast<size_t>(vocab_size_of(options)),
              static_cast<uint64_t>(options.min_frequency), pieces, on_pieces);
  const BertTokenizer tokenizer(WordPiece(pieces.pieces(), wordpiece_options), std::move(bert));
  return {tokenizer.files(), tokenizer.vocab_size()};
}

namespace {

// Adds a piece for every byte, in the order of the characters that stand for them. Returns the ids
// by byte.
std::array<int32_t, 256> add_bytes(PieceList& pieces) {
  std::array<unsigned char, 256> bytes;
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
  std::sort(bytes.begin(), bytes.end(), [](unsigned char a, unsigned char b) {
    return byte_to_character(a) < byte_to_character(b);
  });
  std::array<int32_t, 256> ids;
  for (const unsigned char byte : bytes) {
    ids[byte] = pieces.add(to_utf8(byte_to_character(byte)));
  }
  return ids;
}

SymbolWords cut_into_bytes(ShardedWordTable words, const std::array<int32_t, 256>& ids) {
  return cut_words(std::move(words), [&](std::string_view word, std::vector<int32_t>& symbols) {
    for (const char byte : word) symbols.push_back(ids[static_cast<unsigned char>(byte)]);
  });
}

}  // namespace

TrainedVocabulary train_byte_level(ShardedWordTable words, const TokenizerTrainingOptions& options,
                                   const OnPieces& on_pieces) {
  PieceList pieces("");
  for (const AddedToken& token : roberta_tokens()) pieces.add(token.content);
  const size_t num_special = pieces.size();
  const std::array<int32_t, 256> ids = add_bytes(pieces);
  require_room(vocab_size_of(options), num_special, pieces.size() - num_special);
  const auto merges = merge_pairs(cut_into_bytes(std::move(words), ids),
                                  static_cast<size_t>(vocab_size_of(options)),
                                  static_cast<uint64_t>(options.min_frequency), pieces, on_pieces);
  return {byte_level_files(pieces.pieces(), merges), static_cast<int64_t>(pieces.size())};
}

}  // namespace berth
