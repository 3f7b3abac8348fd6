#include "trainer/text/class_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/added_tokens.h"
#include "trainer/text/class_tokens.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"
#include "trainer/text/pipeline_json.h"

namespace berth {

namespace {

Json part_of(const Json& root, const char* name) {
  const Json* part = member(root, name);
  return part == nullptr ? Json() : *part;
}

Json config_of(const FileLookup& file) {
  Json config = Json::object();
  read_if_present(file("tokenizer_config.json"), "tokenizer_config.json",
                  [&](const std::string& content) { config = parse_object(content); });
  return config;
}

// A part of tokenizer.json without what has no effect beside the rest, and with the defaults that
// older files omit.
Json canonical(const Json& part) {
  if (!part.is_object()) return part;
  const std::string type = string_member(part, "type").value_or("");
  for (const char* list : {"normalizers", "pretokenizers"}) {
    const Json* steps = member(part, list);
    if (type != "Sequence" || steps == nullptr) continue;
    Json kept = Json::array();
    for (const Json& step : *steps) {
      const std::string of = string_member(step, "type").value_or("");
      const bool is_of_spaces =
          of == "WhitespaceSplit" || of == "Strip" ||
          (of == "Replace" && member(part_of(step, "pattern"), "Regex") != nullptr);
      if (!is_of_spaces) kept.push_back(canonical(step));
    }
    return kept.size() == 1 ? kept.front() : kept.empty() ? Json() : kept;
  }
  Json plain = part;
  for (const char* name : {"split", "trim_offsets", "use_regex", "str_rep"}) plain.erase(name);
  if (type == "Metaspace") {
    const bool adds = bool_member(part, "add_prefix_space").value_or(true);
    plain.erase("add_prefix_space");
    plain.emplace("prepend_scheme", adds ? "always" : "never");
  }
  return plain;
}

bool same_part(const char* name, const Json& a, const Json& b) {
  if (std::string_view(name) != "post_processor") return canonical(a) == canonical(b);
  try {
    return read_post_processing(to_text(a)).special == read_post_processing(to_text(b)).special;
  } catch (const Error&) {
    return false;
  }
}

class Rebuilding {
 public:
  Rebuilding(const TokenizerClass& of, const Json& config, const ClassTokens& tokens, Json& root)
      : class_(of), config_(config), tokens_(tokens), root_(root) {}

  // The model with the options of the class, and its vocabulary.
  void rebuild_model() {
    Json& model = root_["model"];
    switch (class_.kind) {
      case TokenizerKind::kBert:
      case TokenizerKind::kMpnet:
        require(model, "WordPiece", Json::value_t::object);
        model = {{"type", "WordPiece"},
                 {"unk_token", tokens_.text("unk_token")},
                 {"vocab", std::move(model["vocab"])}};
        return;
      case TokenizerKind::kRoberta:
      case TokenizerKind::kGpt2:
      case TokenizerKind::kDeberta:
      case TokenizerKind::kHerbert: {
        require(model, "BPE", Json::value_t::object);
        Json merges = part_of(model, "merges");
        model = {{"type", "BPE"},
                 {"vocab", std::move(model["vocab"])},
                 {"merges", merges.is_array() ? std::move(merges) : Json::array()}};
        if (class_.kind == TokenizerKind::kHerbert) {
          model["unk_token"] = tokens_.text("unk_token");
          model["end_of_word_suffix"] = "</w>";
        }
        return;
      }
      default:
        require(model, "Unigram", Json::value_t::array);
        model = {{"type", "Unigram"},
                 {"unk_id", unk_id(model["vocab"])},
                 {"vocab", std::move(model["vocab"])}};
    }
  }

  std::vector<std::string> rebuild_steps(const TokenizerOverrides& overrides) {
    const bool lowers = overrides.do_lower_case.value_or(
        flag("do_lower_case", class_.kind != TokenizerKind::kDebertaV2));
    const bool prefix = flag("add_prefix_space", has_metaspace());
    switch (class_.kind) {
      case TokenizerKind::kBert:
      case TokenizerKind::kMpnet:
        replace("normalizer", bert_normalizer(flag("tokenize_chinese_chars", true), lowers,
                                              part_of(config_, "strip_accents")));
        replace("pre_tokenizer", {{"type", "BertPreTokenizer"}});
        break;
      case TokenizerKind::kHerbert:
        replace("normalizer", bert_normalizer(true, false, false));
        replace("pre_tokenizer", {{"type", "BertPreTokenizer"}});
        break;
      case TokenizerKind::kRoberta:
      case TokenizerKind::kGpt2:
      case TokenizerKind::kDeberta:
        replace("normalizer", Json());
        replace("pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", prefix}});
        break;
      default:
        replace("normalizer", unigram_normalizer(lowers));
        replace("pre_tokenizer", words_by_metaspace(prefix));
    }
    replace("post_processor", post_processor(prefix));
    return std::move(replaced_);
  }

  std::vector<std::string> rebuild_template() {
    replace("post_processor", post_processor(false));
    return std::move(replaced_);
  }

 private:
  // Throws kBadData unless the model is of this type and its vocabulary of that kind.
  void require(const Json& model, const char* type, Json::value_t vocabulary) const {
    const Json* has = member(model, "vocab");
    const std::string named = string_member(model, "type").value_or(type);
    if (named == type && has != nullptr && has->type() == vocabulary) return;
    const std::string is = type_of_model(model);
    throw Error(
        Code::kBadData,
        cat("its model is ", quoted(is), is == type ? " with a vocabulary of another form" : "",
            ", but the tokenizer's class, ",
            class_.name.empty() ? "by the model's type" : class_.name, ", is of ", type));
  }

  // As in Python, null is false.
  bool flag(const char* key, bool otherwise) const {
    return bool_member(config_, key).value_or(otherwise && !config_.contains(key));
  }

  bool has_metaspace() const {
    switch (class_.kind) {
      case TokenizerKind::kXlmRoberta:
      case TokenizerKind::kCamembert:
      case TokenizerKind::kAlbert:
      case TokenizerKind::kDebertaV2:
      case TokenizerKind::kT5:
        return true;
      default:
        return false;
    }
  }

  int32_t unk_id(const Json& vocabulary) const {
    const std::string unk = tokens_.text("unk_token");
    int32_t found = -1;
    for (size_t i = 0; i < vocabulary.size() && found < 0; ++i) {
      const Json& piece = vocabulary[i];
      const bool scored = piece.is_array() && piece.size() == 2 && piece[1].is_number();
      if (!scored || piece[0] != unk) continue;
      if (class_.kind != TokenizerKind::kDebertaV2 || piece[1] == 0.0) {
        found = static_cast<int32_t>(i);
      }
    }
    switch (class_.kind) {
      case TokenizerKind::kXlmRoberta:
        return 3;
      case TokenizerKind::kAlbert:
        return 1;
      case TokenizerKind::kT5:
        return 2;
      case TokenizerKind::kCamembert:
        return std::max(found, 0);
      default:
        break;
    }
    const Json* id = member(config_, "unk_id");
    return found >= 0 ? found : id == nullptr ? 1 : count_of(*id, "unk_id");
  }

  static Json bert_normalizer(bool chinese, bool lowers, const Json& strips) {
    return {{"type", "BertNormalizer"},
            {"clean_text", true},
            {"handle_chinese_chars", chinese},
            {"strip_accents", strips},
            {"lowercase", lowers}};
  }

  // The character map of the file. The classes have no other place for it.
  Json precompiled() const {
    const Json normalizer = part_of(root_, "normalizer");
    const Json* steps = member(normalizer, "normalizers");
    for (const Json& step : steps == nullptr ? Json::array({normalizer}) : *steps) {
      if (string_member(step, "type").value_or("") == "Precompiled") return step;
    }
    return Json();
  }

  Json unigram_normalizer(bool lowers) const {
    const Json charsmap = precompiled();
    if (class_.kind != TokenizerKind::kAlbert && class_.kind != TokenizerKind::kDebertaV2) {
      return charsmap;
    }
    Json steps = Json::array();
    const Json lower = {{"type", "Lowercase"}};
    if (class_.kind == TokenizerKind::kDebertaV2) {
      if (lowers) steps.push_back(lower);
      steps.push_back(
          {{"type", "Replace"}, {"pattern", {{"Regex", "\\s{2,}|[\\n\\r\\t]"}}}, {"content", " "}});
      steps.push_back({{"type", "NFC"}});
      steps.push_back({{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
    } else {
      for (const char* quotes : {"``", "''"}) {
        steps.push_back(
            {{"type", "Replace"}, {"pattern", {{"String", quotes}}}, {"content", "\""}});
      }
      if (!flag("keep_accents", false)) {
        steps.push_back({{"type", "NFKD"}});
        steps.push_back({{"type", "StripAccents"}});
      }
      if (lowers) steps.push_back(lower);
      if (!charsmap.is_null()) steps.push_back(charsmap);
    }
    return {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
  }

  Json words_by_metaspace(bool prefix) const {
    const bool is_deberta = class_.kind == TokenizerKind::kDebertaV2;
    Json steps = Json::array();
    if (!is_deberta) steps.push_back({{"type", "WhitespaceSplit"}});
    if (is_deberta && flag("split_by_punct", false)) {
      steps.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
    }
    const bool always = prefix || class_.kind == TokenizerKind::kT5;
    steps.push_back({{"type", "Metaspace"},
                     {"replacement", "\xE2\x96\x81"},
                     {"prepend_scheme", always       ? "always"
                                        : is_deberta ? "first"
                                                     : "never"}});
    return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
  }

  int32_t id_of(const std::string& token) const {
    if (token.empty()) {
      throw Error(Code::kBadData, cat("tokenizer_config.json names no token (null) for one that ",
                                      shown_class(class_), " puts around texts"));
    }
    for (const Json& added : root_["added_tokens"]) {
      if (added["content"] == token) return added["id"].get<int32_t>();
    }
    throw Error(Code::kBadData, cat("the vocabulary has no ", quoted(token)));
  }

  Json processing(const char* type, const std::string& sep, const std::string& cls) const {
    return {{"type", type},
            {"sep", Json::array({sep, id_of(sep)})},
            {"cls", Json::array({cls, id_of(cls)})}};
  }

  Json post_processor(bool prefix) const {
    const std::string sep = tokens_.text("sep_token"), cls = tokens_.text("cls_token"),
                      bos = tokens_.text("bos_token"), eos = tokens_.text("eos_token");
    switch (class_.kind) {
      case TokenizerKind::kAlbert:  // makes its template before it takes the file's
        if (const Json own = part_of(root_, "post_processor"); !own.is_null()) return own;
        [[fallthrough]];
      case TokenizerKind::kBert:
      case TokenizerKind::kDebertaV2:
        return processing("BertProcessing", sep, cls);
      case TokenizerKind::kHerbert: {
        Json fixed = processing("BertProcessing", sep, cls);
        fixed["sep"][1] = 2;
        fixed["cls"][1] = 0;
        return fixed;
      }
      case TokenizerKind::kMpnet:
        return processing("RobertaProcessing", sep, cls)
            .patch(Json::array({{{"op", "add"}, {"path", "/add_prefix_space"}, {"value", false}}}));
      case TokenizerKind::kRoberta: {
        Json roberta = processing("RobertaProcessing", sep, cls);
        roberta["trim_offsets"] = flag("trim_offsets", true);
        roberta["add_prefix_space"] = prefix;
        return roberta;
      }
      case TokenizerKind::kGpt2:
        return part_of(root_, "post_processor");
      case TokenizerKind::kDeberta:
        return of_parts({cls, "$A", sep}, {cls, "$A", sep, sep, "$B", sep});
      case TokenizerKind::kT5:
        return of_parts({"$A", eos}, {"$A", eos, "$B", eos});
      default:
        return of_parts({bos, "$A", eos}, {bos, "$A", eos, eos, "$B", eos});
    }
  }

  Json of_parts(const std::vector<std::string>& single,
                const std::vector<std::string>& pair) const {
    Json known = Json::object();
    const auto list = [&](const std::vector<std::string>& names) {
      Json parts = Json::array();
      for (const std::string& name : names) {
        if (name == "$A" || name == "$B") {
          parts.push_back({{"Sequence", {{"id", name.substr(1)}, {"type_id", 0}}}});
          continue;
        }
        known[name] = {{"id", name}, {"ids", Json::array({id_of(name)})}};
        parts.push_back({{"SpecialToken", {{"id", name}, {"type_id", 0}}}});
      }
      return parts;
    };
    Json first = list(single), second = list(pair);
    return {{"type", "TemplateProcessing"},
            {"single", std::move(first)},
            {"pair", std::move(second)},
            {"special_tokens", std::move(known)}};
  }

  void replace(const char* name, Json value) {
    if (!same_part(name, part_of(root_, name), value)) replaced_.emplace_back(name);
    root_[name] = std::move(value);
  }

  const TokenizerClass& class_;
  const Json& config_;
  const ClassTokens& tokens_;
  Json& root_;
  std::vector<std::string> replaced_;
};

// The ids of the pieces, and their number.
std::map<std::string, int32_t> pieces_of(const Json& model) {
  std::map<std::string, int32_t> ids;
  const Json* vocabulary = member(model, "vocab");
  if (vocabulary == nullptr) return ids;
  int32_t next = 0;
  for (const auto& [key, value] : vocabulary->items()) {
    if (vocabulary->is_object()) {
      ids.emplace(key, count_of(value, "the id of a piece"));
    } else if (value.is_array() && !value.empty() && value[0].is_string()) {
      ids.insert_or_assign(value[0].get<std::string>(), next++);
    }
  }
  return ids;
}

}  // namespace

std::vector<std::string> read_as_class(const FileLookup& file,
                                       const TokenizerClass& tokenizer_class,
                                       const TokenizerOverrides& overrides, Json& root,
                                       const SentencePieceTokens* model) {
  if (member(root, "model") == nullptr) throw Error(Code::kBadData, "it has no model");
  Json config = config_of(file);
  const ClassTokens tokens(file, tokenizer_class, config, read_added_tokens_list(root), model);
  if (model != nullptr) {
    config["unk_id"] = model->unk_id;
    add_pieces_of_class(tokenizer_class.kind, tokens, extra_ids_of(config), root["model"]["vocab"]);
  }
  Rebuilding rebuilding(tokenizer_class, config, tokens, root);
  if (tokenizer_class.rebuilds) rebuilding.rebuild_model();
  const std::map<std::string, int32_t> pieces = pieces_of(root["model"]);
  const auto find = [&](const std::string& token) {
    const auto found = pieces.find(token);
    return found == pieces.end() ? -1 : found->second;
  };
  const auto count = static_cast<int32_t>(pieces.size());
  const std::vector<AddedToken> all = tokens.all(find, count);
  if (!file("tokenizer.json")) tokens.refuse_moved(all, count);
  root["added_tokens"] = parse_json(to_text(added_token_list(all)));
  if (tokenizer_class.rebuilds) return rebuilding.rebuild_steps(overrides);
  return tokenizer_class.makes_template ? rebuilding.rebuild_template()
                                        : std::vector<std::string>();
}

}  // namespace berth
