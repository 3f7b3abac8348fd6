#include "trainer/text/class_tokens.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "storage/base/base64.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"

namespace berth {

namespace {

// In the order of transformers, which gives new tokens their ids in this order.
constexpr const char* kNames[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};

bool same(const AddedToken& a, const AddedToken& b) {
  return a.content == b.content && a.single_word == b.single_word && a.lstrip == b.lstrip &&
         a.rstrip == b.rstrip && a.normalized == b.normalized && a.special == b.special;
}

bool holds(const std::vector<AddedToken>& tokens, const std::string& content) {
  return std::any_of(tokens.begin(), tokens.end(),
                     [&](const AddedToken& token) { return token.content == content; });
}

// The tokens of a vocabulary, as the class AddedVocabulary of `tokenizers` keeps them.
class Vocabulary {
 public:
  Vocabulary(const std::function<int32_t(const std::string&)>& find, int32_t count)
      : find_(find), next_(count) {}

  void add(AddedToken token) {
    const auto known = std::find_if(tokens_.begin(), tokens_.end(), [&](const AddedToken& other) {
      return other.content == token.content;
    });
    if (known != tokens_.end()) {
      token.id = known->id;
      *known = std::move(token);
      return;
    }
    const int32_t id = find_(token.content);
    token.id = id >= 0 ? id : next_;
    if (token.id >= next_) next_ = token.id + 1;
    tokens_.push_back(std::move(token));
  }

  const std::vector<AddedToken>& tokens() const { return tokens_; }

 private:
  const std::function<int32_t(const std::string&)>& find_;
  int32_t next_;
  std::vector<AddedToken> tokens_;
};

}  // namespace

ClassTokens::ClassTokens(const FileLookup& file, const TokenizerClass& tokenizer_class,
                         const Json& config, std::vector<AddedToken> listed,
                         const SentencePieceTokens* model)
    : rebuilds_(tokenizer_class.rebuilds), listed_(std::move(listed)) {
  if (rebuilds_ || tokenizer_class.makes_template) name_defaults(tokenizer_class.kind);
  if (model != nullptr) extra_ = model->tokens;
  read_names(config, false);
  read_extra(config);
  if (const Json* decoder = member(config, "added_tokens_decoder")) {
    if (!decoder->is_object()) {
      throw Error(Code::kBadData, "added_tokens_decoder is not an object", "tokenizer_config.json");
    }
    for (const auto& [key, value] : decoder->items()) {
      int32_t id = -1;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
      const bool whole = error == std::errc() && end == key.data() + key.size();
      by_id_[count_of(Json(whole ? id : -1), "a key of added_tokens_decoder")] =
          token_of(value, false, true);
    }
  } else {
    read_if_present(file("special_tokens_map.json"), "special_tokens_map.json",
                    [&](const std::string& content) {
                      const Json map = parse_object(content);
                      read_names(map, true);
                      read_extra_of_map(map, model != nullptr);
                    });
    read_if_present(file("added_tokens.json"), "added_tokens.json",
                    [&](const std::string& content) { read_added_tokens(content); });
    for (const AddedToken& token : listed_) by_id_[token.id] = token;
  }
  if (names_own_ && (lists_extra_ || lists_older_)) {
    throw Error(Code::kBadData,
                "extra_special_tokens has names, beside a list of special tokens, and berth does "
                "not read both",
                "", "list all of them in extra_special_tokens");
  }
  if (tokenizer_class.kind == TokenizerKind::kT5 && rebuilds_ && !lists_extra_) {
    const int32_t count = extra_ids_of(config);
    const bool has_some = std::any_of(extra_.begin(), extra_.end(), [](const AddedToken& token) {
      return token.content.find("<extra_id_") != token.content.npos;
    });
    for (int32_t i = 0; i < count && !has_some; ++i) {
      extra_.push_back({.content = cat("<extra_id_", i, ">")});
    }
  }
}

// transformers knows the special ones among them by the names and the lists that files state.
void ClassTokens::read_added_tokens(const std::string& content) {
  const Json object = parse_object(content);
  for (const auto& item : object.items()) {
    const std::string& text = item.key();
    const Json& id = item.value();
    const bool named = std::find(stated_.begin(), stated_.end(), text) != stated_.end();
    by_id_[count_of(id, "the id of a token")] =
        AddedToken{.content = text, .normalized = !named, .special = named};
  }
}

void ClassTokens::name_defaults(TokenizerKind kind) {
  const auto name = [&](std::initializer_list<const char*> texts) {
    size_t i = 0;
    for (const char* text : texts) {
      if (*text != '\0') names_[kNames[i]] = AddedToken{.content = text, .id = -2};
      ++i;
    }
  };
  const auto swallow_spaces_before_mask = [&] {
    names_["mask_token"] = AddedToken{.content = names_["mask_token"]->content, .lstrip = true};
  };
  switch (kind) {
    case TokenizerKind::kBert:
      return name({"", "", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"});
    case TokenizerKind::kMpnet:
      name({"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"});
      for (auto& [key, token] : names_) token->id = -1;
      return swallow_spaces_before_mask();
    case TokenizerKind::kHerbert:
      return name({"", "", "<unk>", "</s>", "<pad>", "<s>", "<mask>"});
    case TokenizerKind::kDeberta:
    case TokenizerKind::kDebertaV2:
      return name({"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"});
    case TokenizerKind::kAlbert:
      return name({"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"});
    case TokenizerKind::kT5:
      return name({"", "</s>", "<unk>", "", "<pad>", "", ""});
    case TokenizerKind::kCamembert:
      for (const char* text : {"<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"}) {
        extra_.push_back({.content = text, .id = -2});
      }
      name({"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"});
      return swallow_spaces_before_mask();
    case TokenizerKind::kRoberta:
    case TokenizerKind::kXlmRoberta:
      return name({"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"});
    case TokenizerKind::kGpt2:
      return name({"<|endoftext|>", "<|endoftext|>", "<|endoftext|>"});
    case TokenizerKind::kUnknown:
      return;
  }
}

// A text has no flags of its own: it takes the flags of the vocabulary's token, if there is one.
void ClassTokens::read_names(const Json& object, bool is_map) {
  for (const char* name : kNames) {
    const auto found = object.find(name);
    if (found == object.end()) continue;
    if (found->is_null()) {
      names_[name].reset();
      continue;
    }
    AddedToken token = token_of(*found, found->is_string() || is_map, false);
    if (found->is_string()) token.id = -2;
    stated_.push_back(token.content);
    names_[name] = std::move(token);
  }
}

void ClassTokens::add_extra(const Json& list) {
  if (!(list.is_array() || list.is_object())) return;
  for (const Json& value : list) {
    AddedToken token = token_of(value, true, false);
    if (value.is_string()) token.id = -2;
    stated_.push_back(token.content);
    if (!holds(extra_, token.content)) extra_.push_back(std::move(token));
  }
}

// Names of special tokens of the folder's own, which are no list.
void ClassTokens::read_own_names(const Json& object) {
  const Json* names = member(object, "extra_special_tokens");
  if (names == nullptr || !names->is_object() || names->empty()) return;
  names_own_ = true;
  for (const Json& value : *names) {
    AddedToken token = token_of(value, true, false);
    if (value.is_string()) token.id = -2;
    own_names_.push_back(std::move(token));
  }
}

// extra_special_tokens outranks the older additional_special_tokens, unless it is empty.
void ClassTokens::read_extra(const Json& object) {
  const Json* newer = member(object, "extra_special_tokens");
  const Json* older = member(object, "additional_special_tokens");
  read_own_names(object);
  const bool is_list = newer != nullptr && newer->is_array() && (!newer->empty() || !older);
  const Json* list = is_list ? newer : older;
  if (list == nullptr) return;
  lists_extra_ = true;
  extra_.clear();
  add_extra(*list);
}

// The tokens of a SentencePiece model, or of tokenizer_config.json's list, have priority over the
// older list here.
void ClassTokens::read_extra_of_map(const Json& object, bool has_model) {
  const bool had_list = lists_extra_;
  read_own_names(object);
  const Json* newer = member(object, "extra_special_tokens");
  if (newer != nullptr && newer->is_array()) {
    if (!had_list) extra_.clear();
    lists_extra_ = true;
    add_extra(*newer);
  }
  const Json* older = member(object, "additional_special_tokens");
  if (older == nullptr || has_model || lists_extra_) return;
  const std::vector<std::string> stated = stated_;
  extra_.clear();
  add_extra(*older);
  stated_ = stated;
  lists_older_ = true;
}

std::string ClassTokens::text(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() || !found->second ? "" : found->second->content;
}

void ClassTokens::refuse_moved(const std::vector<AddedToken>& all, int32_t count) const {
  for (const auto& [id, token] : by_id_) {
    for (const AddedToken& other : all) {
      if (other.content != token.content || other.id == id || other.id < count) continue;
      throw Error(Code::kBadData,
                  cat("a file gives the added token ", quoted(token.content), " the id ", id,
                      ", and transformers 5 gives it ", other.id),
                  "",
                  "save the tokenizer with the version that trained the model, as tokenizer.json");
    }
  }
}

std::vector<AddedToken> ClassTokens::all(const std::function<int32_t(const std::string&)>& find,
                                         int32_t count) const {
  Vocabulary vocabulary(find, count);
  if (!rebuilds_) {
    for (const AddedToken& token : listed_) vocabulary.add(token);
  }
  std::vector<AddedToken> wanted;
  for (const auto& entry : by_id_) {
    const AddedToken& token = entry.second;
    const auto& have = vocabulary.tokens();
    if (std::none_of(have.begin(), have.end(),
                     [&](const AddedToken& other) { return same(other, token); })) {
      wanted.push_back(token);
    }
  }
  // A later token of the same text gives it its flags.
  const std::vector<AddedToken> of_files = wanted;
  const auto add_absent = [&](const AddedToken& token) {
    if (holds(vocabulary.tokens(), token.content) || holds(of_files, token.content)) return;
    const bool is_there = std::any_of(wanted.begin(), wanted.end(), [&](const AddedToken& other) {
      return same(other, token) && (other.id == -2) == (token.id == -2);
    });
    if (!is_there) wanted.push_back(token);
  };
  for (const char* name : kNames) {
    const auto found = names_.find(name);
    if (found != names_.end() && found->second) add_absent(*found->second);
  }
  for (const AddedToken& token : own_names_) add_absent(token);
  for (const AddedToken& token : extra_) add_absent(token);
  for (AddedToken& token : wanted) {
    token.special |= std::any_of(names_.begin(), names_.end(), [&](const auto& name) {
      return name.second && name.second->content == token.content;
    });
    vocabulary.add(std::move(token));
  }
  return vocabulary.tokens();
}

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
