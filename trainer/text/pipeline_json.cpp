#include "trainer/text/pipeline_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/bpe.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/unicode.h"
#include "trainer/text/unigram.h"

namespace berth {

namespace {

const Json& required(const Json& model, const char* name) {
  const Json* value = member(model, name);
  if (value == nullptr || !value->is_structured()) {
    throw Error(Code::kBadData, cat("its model has no ", name));
  }
  return *value;
}

Bpe::Vocabulary read_vocabulary(const Json& model) {
  Bpe::Vocabulary vocabulary;
  const Json& pieces = required(model, "vocab");
  if (!pieces.is_object()) throw Error(Code::kBadData, "model.vocab is not an object");
  vocabulary.reserve(pieces.size());
  for (const auto& [piece, id] : pieces.items()) {
    vocabulary.emplace_back(piece, count_of(id, "the id of a piece"));
  }
  return vocabulary;
}

// A merge is "left right", or since tokenizers 0.20 ["left", "right"].
std::pair<std::string, std::string> read_merge(const Json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  const std::string text = merge.is_string() ? merge.get<std::string>() : "";
  const size_t space = text.find(' ');
  if (space == text.npos) throw Error(Code::kBadData, "a merge is not two tokens");
  return {text.substr(0, space), text.substr(space + 1)};
}

std::unique_ptr<WordModel> read_bpe(const Json& model, bool byte_level) {
  BpeOptions options;
  options.byte_level = byte_level;
  options.unk_token = string_member(model, "unk_token");
  options.continuing_subword_prefix =
      string_member(model, "continuing_subword_prefix").value_or("");
  options.end_of_word_suffix = string_member(model, "end_of_word_suffix").value_or("");
  options.fuse_unk = bool_member(model, "fuse_unk").value_or(false);
  options.byte_fallback = bool_member(model, "byte_fallback").value_or(false);
  options.ignore_merges = bool_member(model, "ignore_merges").value_or(false);
  if (byte_level &&
      !(options.end_of_word_suffix.empty() && options.continuing_subword_prefix.empty())) {
    throw Error(Code::kBadData,
                "model.end_of_word_suffix or model.continuing_subword_prefix is set after "
                "ByteLevel, which berth does not support");
  }
  if (const Json* dropout = member(model, "dropout"); dropout != nullptr && *dropout != 0) {
    throw Error(Code::kBadData, "model.dropout is set, which berth does not support");
  }
  Bpe::Merges merges;
  for (const Json& merge : required(model, "merges")) merges.push_back(read_merge(merge));
  return std::make_unique<Bpe>(read_vocabulary(model), merges, std::move(options));
}

std::unique_ptr<WordModel> read_unigram(const Json& model) {
  std::vector<std::pair<std::string, double>> pieces;
  for (const Json& piece : required(model, "vocab")) {
    if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number()) {
      throw Error(Code::kBadData, cat("piece ", pieces.size(), " is not a text and its score"));
    }
    pieces.emplace_back(piece[0].get<std::string>(), piece[1].get<double>());
  }
  std::optional<int32_t> unk_id;
  if (const Json* id = member(model, "unk_id")) unk_id = count_of(*id, "unk_id");
  return std::make_unique<Unigram>(std::move(pieces), unk_id,
                                   bool_member(model, "byte_fallback").value_or(false));
}

std::unique_ptr<WordModel> read_wordpiece(const Json& model) {
  WordPieceOptions options;
  if (const auto unk = string_member(model, "unk_token")) options.unk_token = *unk;
  if (const auto prefix = string_member(model, "continuing_subword_prefix")) {
    options.continuing_subword_prefix = *prefix;
  }
  if (const Json* limit = member(model, "max_input_chars_per_word")) {
    options.max_input_chars_per_word =
        static_cast<uint64_t>(count_of(*limit, "max_input_chars_per_word"));
  }
  std::vector<std::string> pieces;
  const Bpe::Vocabulary vocabulary = read_vocabulary(model);
  for (const auto& [piece, id] : vocabulary) {
    const auto index = static_cast<size_t>(id);
    if (index >= 4 * vocabulary.size() + 1000) {
      throw Error(Code::kBadData, cat("the id of ", quoted(piece), " is ", index,
                                      " in a vocabulary of ", vocabulary.size()));
    }
    if (index >= pieces.size()) pieces.resize(index + 1);
    pieces[index] = piece;
  }
  return std::make_unique<WordPieceModel>(std::make_unique<const WordPiece>(pieces, options));
}

std::unique_ptr<WordModel> read_model(const Json& model, bool byte_level) {
  const std::string type = type_of_model(model);
  if (type == "BPE") return read_bpe(model, byte_level);
  if (byte_level) {
    throw Error(Code::kBadData, cat("model.type is ", quoted(type), " after ByteLevel, not BPE"));
  }
  if (type == "Unigram") return read_unigram(model);
  if (type == "WordPiece") return read_wordpiece(model);
  throw Error(Code::kBadData,
              cat("model.type is ", quoted(type), ", which berth does not support"));
}

std::string text_of(const Json& root, const char* name) {
  const Json* part = member(root, name);
  return part == nullptr ? "null" : part->dump();
}

}  // namespace

std::string type_of_model(const Json& model) {
  if (const auto type = string_member(model, "type")) return *type;
  if (member(model, "merges") != nullptr) return "BPE";
  const Json* vocabulary = member(model, "vocab");
  return vocabulary != nullptr && vocabulary->is_array() ? "Unigram" : "WordPiece";
}

std::vector<AddedToken> read_added_tokens_list(const Json& root) {
  std::vector<AddedToken> tokens;
  const Json* added = member(root, "added_tokens");
  if (added == nullptr) return tokens;
  for (const Json& value : *added) {
    AddedToken token = token_of(value, false, true);
    const Json* id = member(value, "id");
    if (id == nullptr) throw Error(Code::kBadData, cat(quoted(token.content), " has no id"));
    token.id = count_of(*id, "the id of a token");
    tokens.push_back(std::move(token));
  }
  return tokens;
}

PipelineParts read_pipeline_json(const Json& root) {
  const Json* model = member(root, "model");
  if (model == nullptr) throw Error(Code::kBadData, "it has no model");
  PipelineParts parts;
  const Splitting splitting = read_splitting(text_of(root, "pre_tokenizer"));
  const PostProcessing post = read_post_processing(text_of(root, "post_processor"));
  parts.options.added_tokens = read_added_tokens_list(root);
  parts.options.normalize = read_normalization(text_of(root, "normalizer"));
  parts.options.split = splitting.split;
  parts.options.keeps_spaces = splitting.keeps_spaces;
  parts.options.needs_alignment = splitting.needs_alignment;
  parts.options.trim_spans = post.trim_spans;
  parts.options.add_prefix_space = post.add_prefix_space;
  parts.special = post.special;
  parts.model = read_model(*model, splitting.byte_level);
  return parts;
}

}  // namespace berth
