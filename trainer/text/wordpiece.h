#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_subword_prefix = "##";
  uint64_t max_input_chars_per_word = 100;
};

// A WordPiece vocabulary, which splits words by greedy longest match (Schuster and Nakajima 2012;
// like tokenizers/src/models/wordpiece). The pieces are stored in one arena behind an
// open-addressing hash table. The hash proceeds byte by byte, so that all prefixes of a word are
// hashed in one pass. Immutable and thread-safe.
class WordPiece {
 public:
  // `pieces` is indexed by id and must be valid UTF-8. An empty piece is an unused id. If a piece
  // occurs twice, the last id counts. Throws kBadData if the unknown token is missing, or if
  // max_input_chars_per_word is not between 1 and 10000.
  WordPiece(const std::vector<std::string>& pieces, const WordPieceOptions& options = {});

  static constexpr uint64_t kHashSeed = 0x243F6A8885A308D3;
  static uint64_t hash_step(uint64_t hash, char byte) {
    return (hash ^ static_cast<unsigned char>(byte)) * 0x9E3779B97F4A7C15;
  }

  const WordPieceOptions& options() const { return options_; }
  int32_t size() const { return static_cast<int32_t>(ends_.size()); }
  std::string_view piece(int32_t id) const;
  int32_t unk_id() const { return unk_id_; }

  // Returns the id of exactly this piece, or -1.
  int32_t find(std::string_view piece) const;

  // Appends the ids of a word that is not empty, or the unknown id. `hash` is hash_step() applied
  // to its bytes, starting with kHashSeed.
  void append(std::string_view word, uint64_t hash, std::vector<int32_t>& ids) const;

 private:
  struct Slot {
    uint32_t tag;  // -1 if the slot is empty
    int32_t id;    // -1: empty
  };
  struct Match {
    int32_t id;
    size_t size_bytes;
  };

  size_t slot_of(uint64_t hash) const { return hash >> shift_; }
  int32_t look_up(uint64_t hash, std::string_view prefix, std::string_view rest) const;
  Match longest(uint64_t hash, std::string_view prefix, std::string_view rest) const;
  void insert(int32_t id);

  WordPieceOptions options_;
  std::string arena_;
  std::vector<uint32_t> ends_;  // end of each piece in the arena
  std::vector<Slot> slots_;     // the size is a power of two; at most half of them are used
  int shift_ = 0;
  size_t longest_piece_bytes_ = 0;
  uint64_t continuation_hash_ = kHashSeed;
  int32_t unk_id_ = -1;
};

}  // namespace berth
