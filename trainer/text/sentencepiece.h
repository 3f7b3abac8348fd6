#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/bpe.h"
#include "trainer/text/normalization_steps.h"
#include "trainer/text/piece_table.h"
#include "trainer/text/template_tokenizer.h"
#include "trainer/text/unigram.h"

namespace berth {

// The content of a SentencePiece .model file, which is a ModelProto
// (spm/src/sentencepiece_model.proto):
//   1 pieces {1 piece, 2 score float, 3 type}   2 TrainerSpec   3 NormalizerSpec
struct SentencePieceModel {
  enum class Type : uint8_t { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::kNormal;
  };
  std::vector<Piece> pieces;  // by id

  // TrainerSpec
  enum class Algorithm : uint8_t { kUnigram = 1, kBpe = 2 };
  Algorithm algorithm = Algorithm::kUnigram;
  bool treat_whitespace_as_suffix = false;
  bool byte_fallback = false;
  int32_t trained_unk_id = 0;

  // NormalizerSpec
  std::string precompiled_charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;

  int32_t unk_id = -1;  // id of the piece of type kUnknown

  // Returns the id of a piece of any type, or -1.
  int32_t find(std::string_view piece) const;
};

// Parses a .model file. Throws kCorrupt, naming the byte offset, if it is not such a message.
// Throws kBadData for a word or character model, and for models that libsentencepiece rejects:
// those without exactly one unknown piece, with empty or duplicate pieces, or with byte_fallback
// but not all 256 byte pieces.
SentencePieceModel parse_sentencepiece_model(std::string_view file);

// The normalization that a SentencePiece model defines, as libsentencepiece does it
// (spm/src/normalizer.cc). It applies replacements, turns spaces into U+2581, adds one before the
// text, and removes superfluous ones. Texts in `user_defined` are left unchanged. Immutable and
// thread-safe.
class SentencePieceNormalizer {
 public:
  // `user_defined` must outlive this object. Throws kCorrupt for a malformed charsmap.
  SentencePieceNormalizer(const SentencePieceModel& model, const Trie& user_defined);

  // Writes the normalized `text`, which must be valid UTF-8, to `out`. If `origins` is not null, it
  // receives for each byte of `out`, and for its end, the byte of `text` that it came from.
  // Throws what require_normalized_size() throws.
  void normalize(std::string_view text, std::string& out, std::vector<uint32_t>* origins) const;

 private:
  struct Step {
    std::string_view becomes;
    size_t size_bytes;
  };
  Step next(std::string_view text) const;

  Charsmap charsmap_;
  const Trie& user_defined_;
  bool add_dummy_prefix_, remove_extra_whitespaces_, whitespace_as_suffix_;
  std::string_view space_;  // how a space is written
};

// The byte pair encoding of a SentencePiece model (spm/src/bpe_model.cc). It repeatedly merges the
// two neighbors whose joined piece has the highest score, leftmost on ties. User-defined pieces are
// never merged. Pieces of type unused are split again at the end. Immutable and thread-safe.
class SentencePieceBpe {
 public:
  // `user_defined` must outlive this object.
  SentencePieceBpe(const SentencePieceModel& model, const Trie& user_defined);

  struct Part {
    int32_t id;  // -1 if unknown
    Span span;   // in bytes
  };
  // Appends the parts of `text`, in order. `text` must be normalized and valid UTF-8.
  void cut(std::string_view text, std::vector<Part>& parts) const;

 private:
  void insert_merges(const SentencePieceModel& model);
  class Recut;

  const Trie& user_defined_;
  PieceTable symbols_;  // ids of pieces, and higher numbers for characters that are not pieces
  PairMerges merges_;
  std::vector<bool> unused_;  // by id; empty if no piece is of type unused
  int32_t size_;
};

struct SentencePieceOptions {
  SpecialTokensTemplate special;
  NormalizationStep prepare;           // applied before the model's own normalization; may be empty
  std::vector<Tokenizer::File> files;  // the files that it was loaded from
};

// The tokenizer of a SentencePiece model, unigram or BPE, whose class no file names. Its ids and
// spans equal libsentencepiece's; a span includes the space before a word. Immutable and
// thread-safe.
class SentencePieceTokenizer final : public TemplateTokenizer {
 public:
  SentencePieceTokenizer(SentencePieceModel model, SentencePieceOptions options);
  SentencePieceTokenizer(const SentencePieceTokenizer&) = delete;

  int32_t vocab_size() const override { return static_cast<int32_t>(model_.pieces.size()); }
  std::string token(int32_t id) const override;
  std::vector<File> files() const override { return files_; }

 protected:
  void append(std::string_view text, Tokens& tokens) const override;

 private:
  using Take = Viterbi<float>::Take;

  void cut(std::string_view normalized, const Take& take) const;

  SentencePieceModel model_;
  SentencePieceOptions options_;
  std::vector<File> files_;
  Trie user_defined_;
  SentencePieceNormalizer normalizer_;
  std::optional<Viterbi<float>> unigram_;
  std::optional<SentencePieceBpe> bpe_;
  std::array<int32_t, 256> byte_ids_;  // ids in the model; only if byte_fallback
};

}  // namespace berth
