#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "trainer/text/byte_level.h"
#include "trainer/text/training/byte_level_files.h"
#include "trainer/text/training/merge_pairs.h"
#include "trainer/text/training/train_kinds.h"
#include "trainer/text/unicode.h"

namespace berth {

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
    char spelled[4];
    const size_t size = encode_utf8(byte_to_character(byte), spelled);
    ids[byte] = pieces.add(std::string(spelled, size));
  }
  return ids;
}

SymbolWords cut_into_bytes(ShardedWordTable words, const std::array<int32_t, 256>& ids) {
  SymbolWords cut;
  cut.ends.reserve(words.size());
  cut.counts.reserve(words.size());
  cut.symbols.reserve(words.word_bytes());
  for (size_t i = 0; i < ShardedWordTable::kShards; ++i) {
    WordTable& shard = words.shard(i);
    for (const WordTable::Entry& entry : shard.entries()) {
      for (const char byte : shard.word(entry)) {
        cut.symbols.push_back(ids[static_cast<unsigned char>(byte)]);
      }
      cut.end_word(entry.count);
    }
    shard = WordTable();
  }
  return cut;
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
