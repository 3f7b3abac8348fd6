#include "trainer/text/sentencepiece_model.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <unordered_set>

#include "storage/base/error.h"
#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

using Type = SentencePieceModel::Type;

constexpr uint64_t kMostTypes = 6;
constexpr size_t kMostPieceBytes = 4096;  // BPE considers every way to split a piece in two

SentencePieceModel::Piece parse_piece(Bytes message) {
  SentencePieceModel::Piece piece;
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1) piece.text = field.as_text();
    if (field.number == 2) piece.score = field.as_float32();
    if (field.number != 3) continue;
    const uint64_t type = field.as_varint();
    if (type < 1 || type > kMostTypes) {
      throw Error(Code::kBadData, cat("a piece has the type ", type, ", not 1 to ", kMostTypes));
    }
    piece.type = static_cast<Type>(type);
  }
  return piece;
}

void parse_trainer_spec(Bytes message, SentencePieceModel& model) {
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 24) model.treat_whitespace_as_suffix = field.as_varint() != 0;
    if (field.number == 35) model.byte_fallback = field.as_varint() != 0;
    if (field.number == 40) model.trained_unk_id = static_cast<int32_t>(field.as_varint());
    if (field.number != 3) continue;
    const uint64_t algorithm = field.as_varint();
    if (algorithm != 1 && algorithm != 2) {
      throw Error(Code::kBadData, cat("its model_type is ", algorithm,
                                      "; only unigram (1) and BPE (2) models are supported"));
    }
    model.algorithm = static_cast<SentencePieceModel::Algorithm>(algorithm);
  }
}

void parse_normalizer_spec(Bytes message, SentencePieceModel& model) {
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
    if (field.number == 2) model.precompiled_charsmap = field.as_text();
    if (field.number == 3) model.add_dummy_prefix = field.as_varint() != 0;
    if (field.number == 4) model.remove_extra_whitespaces = field.as_varint() != 0;
    if (field.number == 5) model.escape_whitespaces = field.as_varint() != 0;
  }
}

// Returns 10 for "<0x0A>", or -1 if the piece does not name a byte.
int byte_of(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return -1;
  unsigned byte = 0;
  const char* const end = piece.data() + 5;
  return std::from_chars(piece.data() + 3, end, byte, 16).ptr == end ? static_cast<int>(byte) : -1;
}

void check(SentencePieceModel& model) {
  std::unordered_set<std::string_view> texts, reserved;
  std::array<bool, 256> has_byte{};
  const auto complain = [](size_t id, const auto&... what) {
    throw Error(Code::kBadData, cat("piece ", id, " ", what...));
  };
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePieceModel::Piece& piece = model.pieces[id];
    const bool in_text = piece.type == Type::kNormal || piece.type == Type::kUserDefined ||
                         piece.type == Type::kUnused;
    if (piece.text.empty()) complain(id, "is empty");
    if (piece.text.size() > kMostPieceBytes)
      complain(id, "is over ", kMostPieceBytes, " bytes long");
    if (!is_valid_utf8(piece.text)) complain(id, "is not UTF-8");
    if (!std::isfinite(piece.score)) complain(id, "has a score that is not a finite number");
    if (!(in_text ? texts : reserved).insert(piece.text).second) {
      complain(id, "repeats the piece ", quoted(piece.text));
    }
    if (piece.type == Type::kUnknown) {
      if (model.unk_id >= 0) complain(id, "is a second unknown piece");
      model.unk_id = static_cast<int32_t>(id);
    }
    if (piece.type == Type::kByte) {
      const int byte = byte_of(piece.text);
      if (byte < 0) complain(id, "is ", quoted(piece.text), ", which does not name a byte");
      if (!model.byte_fallback) complain(id, "is a byte, but the model has no byte_fallback");
      has_byte[static_cast<size_t>(byte)] = true;
    }
  }
  if (model.unk_id < 0) throw Error(Code::kBadData, "the model has no unknown piece");
  if (model.byte_fallback && std::find(has_byte.begin(), has_byte.end(), false) != has_byte.end()) {
    throw Error(Code::kBadData, "the model has byte_fallback but not all 256 bytes");
  }
}

}  // namespace

int32_t SentencePieceModel::find(std::string_view piece) const {
  for (size_t id = 0; id < pieces.size(); ++id) {
    if (pieces[id].text == piece) return static_cast<int32_t>(id);
  }
  return -1;
}

SentencePieceModel parse_sentencepiece_model(std::string_view file) {
  SentencePieceModel model;
  ProtoReader reader(as_bytes(file));
  for (ProtoField field; reader.next(field);) {
    if (field.number == 1) model.pieces.push_back(parse_piece(field.as_bytes()));
    if (field.number == 2) parse_trainer_spec(field.as_bytes(), model);
    if (field.number == 3) parse_normalizer_spec(field.as_bytes(), model);
  }
  check(model);
  return model;
}

}  // namespace berth
