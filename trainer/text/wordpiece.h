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

// A vocabulary and greedy longest-match splitting of words (Schuster and Nakajima 2012; as
// tokenizers/src/models/wordpiece). Pieces lie in one arena behind an open-addressing hash table
// whose hash runs byte by byte, so that the prefixes of a word are hashed in one pass.
// Immutable, thread-safe.
class WordPiece {
 public:
  // pieces[id]; an empty one is a hole, and of equal ones the last counts. All are valid UTF-8.
  // Throws kBadData without the unknown token or with a word limit outside 1 to 10000.
  WordPiece(const std::vector<std::string>& pieces, const WordPieceOptions& options = {});

  static constexpr uint64_t kHashSeed = 0x243F6A8885A308D3;
  static uint64_t hash_step(uint64_t hash, char byte) {
    return (hash ^ static_cast<unsigned char>(byte)) * 0x9E3779B97F4A7C15;
  }

  const WordPieceOptions& options() const { return options_; }
  int32_t size() const { return static_cast<int32_t>(ends_.size()); }
  std::string_view piece(int32_t id) const;
  int32_t unk_id() const { return unk_id_; }

  // The id of a whole piece, or -1.
  int32_t find(std::string_view piece) const;

  // Adds the pieces of a word that is not empty, or the unknown id. `hash` is hash_step over its
  // bytes from kHashSeed.
  void append(std::string_view word, uint64_t hash, std::vector<int32_t>& ids) const;

 private:
  struct Slot {
    uint32_t tag;
    int32_t id;  // -1: empty
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
  std::vector<uint32_t> ends_;  // of each piece in the arena
  std::vector<Slot> slots_;     // a power of two, at most half full
  int shift_ = 0;
  size_t longest_piece_bytes_ = 0;
  uint64_t continuation_hash_ = kHashSeed;
  int32_t unk_id_ = -1;
};

}  // namespace berth
