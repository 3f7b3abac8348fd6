#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "storage/base/error.h"
#include "trainer/text/bert_tokenizer.h"
#include "trainer/text/training/alphabet.h"
#include "trainer/text/training/merge_pairs.h"
#include "trainer/text/training/train_kinds.h"
#include "trainer/text/unicode.h"
#include "trainer/text/wordpiece.h"

namespace berth {

namespace {

// The most characters of the alphabet. Rarer characters become [UNK].
constexpr size_t kMostCharacters = 1000;
constexpr const char* kBertTokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

// The ids of the pieces of one character: at the beginning of a word and inside it.
struct CharacterIds {
  int32_t first = -1, inside = -1;
};
using Alphabet = std::unordered_map<char32_t, CharacterIds>;

std::string utf8(char32_t c) {
  char bytes[4];
  return {bytes, encode_utf8(c, bytes)};
}

template <typename Visit>
void for_each_character(std::string_view word, Visit visit) {
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
  for (const char32_t c : characters) alphabet[c].first = pieces.add(utf8(c));
  std::vector<char32_t> inside;
  for (size_t i = 0; i < ShardedWordTable::kShards; ++i) {
    const WordTable& shard = words.shard(i);
    for (const WordTable::Entry& entry : shard.entries()) {
      for_each_character(shard.word(entry), [&](char32_t c, bool is_first) {
        const auto found = alphabet.find(c);
        if (is_first || found == alphabet.end() || found->second.inside == 0) return;
        found->second.inside = 0;
        inside.push_back(c);
      });
    }
  }
  std::sort(inside.begin(), inside.end());
  for (const char32_t c : inside) alphabet[c].inside = pieces.add(prefix + utf8(c));
  return alphabet;
}

// Cuts the words into pieces of one character. Characters outside the alphabet are left out.
SymbolWords cut_into_characters(ShardedWordTable words, const Alphabet& alphabet) {
  SymbolWords cut;
  cut.ends.reserve(words.size());
  cut.counts.reserve(words.size());
  cut.symbols.reserve(words.word_bytes());
  for (size_t i = 0; i < ShardedWordTable::kShards; ++i) {
    WordTable& shard = words.shard(i);
    for (const WordTable::Entry& entry : shard.entries()) {
      for_each_character(shard.word(entry), [&](char32_t c, bool is_first) {
        const auto found = alphabet.find(c);
        if (found == alphabet.end()) return;
        cut.symbols.push_back(is_first ? found->second.first : found->second.inside);
      });
      cut.end_word(entry.count);
    }
    shard = WordTable();
  }
  return cut;
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

}  // namespace berth
