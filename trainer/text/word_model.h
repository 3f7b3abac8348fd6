#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/text/template_tokenizer.h"
#include "trainer/text/unicode.h"

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

// Splits one word into tokens. Immutable and thread-safe.
class WordModel {
 public:
  virtual ~WordModel() = default;

  virtual int32_t vocab_size() const = 0;
  virtual std::string token(int32_t id) const = 0;         // "" if no token has this id
  virtual int32_t find(std::string_view token) const = 0;  // -1 if there is none

  // Appends the tokens of `word`, which must be valid UTF-8 and not empty. `offset` is added to
  // their spans.
  virtual void append(std::string_view word, size_t offset, Tokens& tokens) const = 0;
};

// WordPiece as a model of a Pipeline. The WordPiece is either owned or borrowed; if borrowed, it
// must outlive this object.
class WordPieceModel final : public WordModel {
 public:
  explicit WordPieceModel(const WordPiece& wordpiece) : wordpiece_(wordpiece) {}
  explicit WordPieceModel(std::unique_ptr<const WordPiece> wordpiece)
      : owned_(std::move(wordpiece)), wordpiece_(*owned_) {}

  int32_t vocab_size() const override { return wordpiece_.size(); }
  std::string token(int32_t id) const override;
  int32_t find(std::string_view token) const override { return wordpiece_.find(token); }
  void append(std::string_view word, size_t offset, Tokens& tokens) const override;

 private:
  std::unique_ptr<const WordPiece> owned_;
  const WordPiece& wordpiece_;
};

// A sink for a Normalizer that splits text as BertPreTokenizer does: it collects the words between
// whitespace, and takes each punctuation character as a word of its own. Not thread-safe.
//
// `take(word, num_chars, hash)` receives each word and returns false to stop. The bytes of a word
// are complete only if it has at most `max_chars` characters. They are valid until take() returns.
// `hash` is WordPiece::hash_step() applied to them, starting with WordPiece::kHashSeed.
template <typename Take>
class WordCollector {
 public:
  WordCollector(size_t max_chars, Take take)
      : max_chars_(max_chars), take_(std::move(take)), word_(4 * max_chars) {}

  bool ascii(char c) {
    const AsciiKind kind = kAsciiKinds[static_cast<unsigned char>(c)];
    if (kind == kLetter) {
      if (chars_++ < max_chars_) add_byte(c);
      return true;
    }
    return end_word() && (kind == kSpace || single(c));
  }

  bool character(char32_t c, uint8_t classes) {
    if (classes & kWhitespace) return end_word();
    const bool alone = classes & kPunctuation;
    if (alone && !end_word()) return false;
    if (chars_++ < max_chars_) {
      char bytes[4];
      const size_t count = encode_utf8(c, bytes);
      for (size_t i = 0; i < count; ++i) add_byte(bytes[i]);
    }
    return !alone || end_word();
  }

  // Passes on the current word, if there is one. Call it after the last character.
  bool end_word() {
    if (chars_ == 0) return true;
    const bool goes_on = take_(std::string_view(word_.data(), size_bytes_), chars_, hash_);
    chars_ = size_bytes_ = 0;
    hash_ = WordPiece::kHashSeed;
    return goes_on;
  }

 private:
  enum AsciiKind : uint8_t { kLetter, kSpace, kPunctuationMark };

  static constexpr auto kAsciiKinds = [] {
    std::array<AsciiKind, 128> kinds{};
    for (unsigned c = 0; c < 128; ++c) {
      const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
      if (c == ' ' || (c >= 9 && c <= 13)) {
        kinds[c] = kSpace;
      } else if (c > ' ' && c < 127 && !plain) {
        kinds[c] = kPunctuationMark;
      }
    }
    return kinds;
  }();

  void add_byte(char byte) {
    word_[size_bytes_++] = byte;
    hash_ = WordPiece::hash_step(hash_, byte);
  }

  bool single(char c) {
    chars_ = 1;
    add_byte(c);
    return end_word();
  }

  const size_t max_chars_;
  Take take_;
  std::vector<char> word_;
  size_t size_bytes_ = 0;
  size_t chars_ = 0;
  uint64_t hash_ = WordPiece::kHashSeed;
};

// Returns a WordCollector that appends the ids of the words to `ids`. It stops once `ids` holds
// `enough` ids, or soon after. Both arguments must outlive it.
inline auto word_splitter(const WordPiece& wordpiece, size_t enough, std::vector<int32_t>& ids) {
  const size_t max_chars = wordpiece.options().max_input_chars_per_word;
  return WordCollector(max_chars, [&wordpiece, max_chars, enough, &ids](
                                      std::string_view word, size_t num_chars, uint64_t hash) {
    if (num_chars <= max_chars) {
      wordpiece.append(word, hash, ids);
    } else {
      ids.push_back(wordpiece.unk_id());
    }
    return ids.size() < enough;
  });
}

}  // namespace berth
