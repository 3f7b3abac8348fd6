#include "trainer/text/sentencepiece_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "storage/base/base64.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"

namespace berth {

namespace {

constexpr int32_t kMostExtraIds = 10000;

Json piece_of(const std::string& text, double score) { return Json::array({text, score}); }

// The special token `name`. Python writes None for one that there is not.
Json special_piece(const ClassTokens& tokens, const char* name) {
  const std::string text = tokens.text(name);
  return piece_of(text.empty() ? "None" : text, 0);
}

// `first`, and the pieces of `vocabulary` from the `skipped`th on.
Json joined(Json first, const Json& vocabulary, size_t skipped) {
  for (size_t i = skipped; i < vocabulary.size(); ++i) first.push_back(vocabulary[i]);
  return first;
}

}  // namespace

Json tokenizer_json_of(const SentencePieceModel& model) {
  if (model.algorithm != SentencePieceModel::Algorithm::kUnigram) {
    throw Error(Code::kBadData,
                "the SentencePiece model is BPE, which transformers 5 reads as unigram", "",
                "save the tokenizer with its tokenizer.json");
  }
  Json root = {{"model", {{"type", "Unigram"}, {"vocab", Json::array()}}}};
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    root["model"]["vocab"].push_back(piece_of(piece.text, static_cast<double>(piece.score)));
  }
  if (!model.precompiled_charsmap.empty()) {
    root["normalizer"] = {{"type", "Precompiled"},
                          {"precompiled_charsmap", base64(model.precompiled_charsmap)}};
  }
  return root;
}

SentencePieceTokens special_pieces_of(const SentencePieceModel& model) {
  using PieceType = SentencePieceModel::Type;
  SentencePieceTokens special{.tokens = {}, .unk_id = model.trained_unk_id};
  for (const SentencePieceModel::Piece& piece : model.pieces) {
    if (piece.type != PieceType::kControl && piece.type != PieceType::kUserDefined) continue;
    special.tokens.push_back({.content = piece.text, .special = piece.type == PieceType::kControl});
  }
  return special;
}

void add_pieces_of_class(TokenizerKind kind, const ClassTokens& tokens, int32_t extra_ids,
                         Json& vocabulary) {
  const auto special = [&](const char* name) { return special_piece(tokens, name); };
  switch (kind) {
    case TokenizerKind::kXlmRoberta:
      vocabulary = joined(Json::array({special("bos_token"), special("pad_token"),
                                       special("eos_token"), special("unk_token")}),
                          vocabulary, 3);
      vocabulary.push_back(special("mask_token"));
      return;
    case TokenizerKind::kCamembert:
      vocabulary = joined(
          Json::array({piece_of("<s>NOTUSED", 0), special("pad_token"), piece_of("</s>NOTUSED", 0),
                       special("unk_token"), piece_of("<unk>NOTUSED", -100)}),
          vocabulary, 1);
      vocabulary.push_back(special("mask_token"));
      return;
    case TokenizerKind::kT5:
      for (int32_t i = extra_ids; i-- > 0;) {
        vocabulary.push_back(piece_of(cat("<extra_id_", i, ">"), 0));
      }
      return;
    default:
      return;
  }
}

int32_t extra_ids_of(const Json& config) {
  const Json* value = member(config, "extra_ids");
  const int32_t count = value == nullptr ? 100 : count_of(*value, "extra_ids");
  if (count > kMostExtraIds) throw Error(Code::kBadData, "extra_ids is over 10000");
  return count;
}

}  // namespace berth
