#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace berth
