#include "trainer/text/load_kinds.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/known_keys.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "trainer/text/bert_tokenizer.h"
#include "trainer/text/class_json.h"
#include "trainer/text/class_tokens.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/pipeline_json.h"
#include "trainer/text/sentencepiece.h"
#include "trainer/text/unicode.h"

namespace berth {

namespace {

constexpr const char* kSettingsFiles[] = {"tokenizer_config.json", "special_tokens_map.json",
                                          "added_tokens.json"};

}  // namespace

void read_settings(const FileLookup& file, TokenizerSettings& settings) {
  bool lists_all = false;
  read_if_present(
      file("tokenizer_config.json"), "tokenizer_config.json",
      [&](const std::string& content) { lists_all = read_tokenizer_config(content, settings); });
  if (lists_all) return;
  read_if_present(file("special_tokens_map.json"), "special_tokens_map.json",
                  [&](const std::string& content) { read_special_tokens_map(content, settings); });
  read_if_present(file("added_tokens.json"), "added_tokens.json",
                  [&](const std::string& content) { read_added_tokens(content, settings); });
}

std::vector<Tokenizer::File> with_settings(const FileLookup& file, const TokenizerClass& of,
                                           std::vector<Tokenizer::File> files,
                                           const TokenizerOverrides& overrides) {
  for (const char* name : kSettingsFiles) {
    auto content = file(name);
    const bool is_config = std::string_view(name) == "tokenizer_config.json";
    if (is_config && (of.of_model || overrides.do_lower_case)) {
      OrderedJson config = content ? parse_ordered_json(*content) : OrderedJson::object();
      if (of.of_model) config["tokenizer_class"] = of.name;
      if (overrides.do_lower_case) config["do_lower_case"] = *overrides.do_lower_case;
      content = to_text(config, 2) + "\n";
    }
    if (content) files.push_back({name, std::move(*content)});
  }
  return files;
}

void SequenceSettings::apply(SpecialTokensTemplate& special) const {
  if (!has_types) special.remove_types();
  special.cuts_left = cuts_left;
}

SequenceSettings sequence_settings(const FileLookup& file, const Json* root) {
  SequenceSettings settings{.has_types = named_class(file) != "TokenizersBackend"};
  std::optional<std::string> side;
  read_if_present(file("tokenizer_config.json"), "tokenizer_config.json",
                  [&](const std::string& content) {
                    const Json config = parse_object(content);
                    side = string_member(config, "truncation_side");
                    const Json* names = member(config, "model_input_names");
                    settings.names_inputs = names != nullptr && names->is_array();
                    if (settings.names_inputs) {
                      settings.has_types =
                          std::find(names->begin(), names->end(), "token_type_ids") != names->end();
                    }
                    if (side && side != "left" && side != "right") {
                      throw Error(Code::kUsage, cat("\"truncation_side\" is ", quoted(*side),
                                                    ", and left and right are known"));
                    }
                  });
  if (!side && root != nullptr) {
    const Json* truncation = member(*root, "truncation");
    if (truncation != nullptr) side = string_member(*truncation, "direction");
  }
  // tokenizer.json writes Left and Right.
  settings.cuts_left = side && lower_ascii(*side) == "left";
  return settings;
}

namespace {

// Refuses added tokens whose ids, after the vocabulary, leave some numbers out. transformers 4 uses
// these ids, and transformers 5 numbers the tokens again. So one of them reads wrong rows of the
// model's embeddings.
void refuse_gaps(const std::vector<AddedToken>& tokens, int32_t vocab_size) {
  int32_t next = vocab_size;
  for (const AddedToken& token : tokens) {
    if (token.id > next) {
      throw Error(
          Code::kBadData,
          cat("the added token ", quoted(token.content), " has the id ", token.id,
              ", and no token has ", next, "; transformers 4 and 5 give such tokens different ids"),
          "", "save the tokenizer with the version that trained the model, as tokenizer.json");
    }
    next = std::max(next, token.id + 1);
  }
}

}  // namespace

std::vector<AddedToken> added_tokens_with_ids(
    const TokenizerSettings& settings, int32_t vocab_size,
    const std::function<int32_t(const std::string&)>& find) {
  std::vector<AddedToken> tokens = settings.added_tokens;
  const BertTokenizerOptions& options = settings.options;
  std::vector<std::string> names = {settings.wordpiece.unk_token, options.sep_token,
                                    options.pad_token, options.cls_token, options.mask_token};
  names.insert(names.end(), settings.other_names.begin(), settings.other_names.end());
  for (const std::string& name : names) {
    const bool known = std::any_of(tokens.begin(), tokens.end(),
                                   [&](const AddedToken& token) { return token.content == name; });
    if (!known && find(name) >= 0) tokens.push_back({.content = name});
  }
  int32_t next = vocab_size;
  for (AddedToken& token : tokens) {
    if (const int32_t id = find(token.content); id >= 0) token.id = id;
    next = std::max(next, token.id + 1);
  }
  for (AddedToken& token : tokens) {
    if (token.id < 0) token.id = next++;
  }
  std::stable_sort(tokens.begin(), tokens.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  refuse_gaps(tokens, vocab_size);
  return tokens;
}

namespace {

// A later description of a token replaces the earlier one. If it has no id, it keeps the earlier
// id.
void add(AddedToken token, std::vector<AddedToken>& tokens) {
  const auto same = [&](const AddedToken& other) { return other.content == token.content; };
  const auto known = std::find_if(tokens.begin(), tokens.end(), same);
  if (known == tokens.end()) {
    tokens.push_back(std::move(token));
    return;
  }
  if (token.id < 0) token.id = known->id;
  *known = std::move(token);
}

// Reads cls_token and the other special tokens, each a string or an object, and the lists of
// additional ones. A string says nothing about stripping, so it does not replace a known token.
void read_names(const Json& object, bool is_map, TokenizerSettings& settings) {
  const std::pair<const char*, std::string*> names[] = {
      {"unk_token", &settings.wordpiece.unk_token},
      {"sep_token", &settings.options.sep_token},
      {"pad_token", &settings.options.pad_token},
      {"cls_token", &settings.options.cls_token},
      {"mask_token", &settings.options.mask_token}};
  for (const auto& [name, token_name] : names) {
    if (const Json* value = member(object, name)) {
      AddedToken token = token_of(*value, true, false);
      *token_name = token.content;
      if (value->is_object()) add(std::move(token), settings.added_tokens);
    }
  }
  for (const char* name : {"bos_token", "eos_token"}) {
    const Json* value = member(object, name);
    if (value == nullptr) continue;
    AddedToken token = token_of(*value, true, false);
    settings.other_names.push_back(token.content);
    if (value->is_object()) add(std::move(token), settings.added_tokens);
  }
  // extra_special_tokens outranks the older additional_special_tokens, unless it is empty.
  const Json* list = member(object, "extra_special_tokens");
  const bool is_older = list == nullptr || list->empty();
  if (is_older) list = member(object, "additional_special_tokens");
  if (is_map && is_older && settings.has_list) return;
  if (list != nullptr && (list->is_array() || list->is_object())) {
    settings.has_list = true;
    for (const Json& value : *list) {
      AddedToken token = token_of(value, true, false);
      if (!is_map || !is_older) settings.listed.push_back(token.content);
      const bool known =
          std::any_of(settings.added_tokens.begin(), settings.added_tokens.end(),
                      [&](const AddedToken& other) { return other.content == token.content; });
      if (!known || value.is_object()) add(std::move(token), settings.added_tokens);
    }
  }
}

// Whether the files that were read so far name this token as a special one. To transformers, the
// older list of special_tokens_map.json does not.
bool is_special(const std::string& text, const TokenizerSettings& settings) {
  const BertTokenizerOptions& options = settings.options;
  const auto names = {settings.wordpiece.unk_token, options.sep_token, options.pad_token,
                      options.cls_token, options.mask_token};
  return std::ranges::find(names, text) != names.end() ||
         std::ranges::find(settings.other_names, text) != settings.other_names.end() ||
         std::ranges::find(settings.listed, text) != settings.listed.end();
}

int32_t id_from_key(const std::string& key) {
  int32_t id = -1;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
  const bool whole = error == std::errc() && end == key.data() + key.size();
  return count_of(Json(whole ? id : -1), "a key of added_tokens_decoder");
}

void add_in_order_of_ids(std::vector<AddedToken> found, std::vector<AddedToken>& tokens) {
  std::sort(found.begin(), found.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  for (AddedToken& token : found) add(std::move(token), tokens);
}

}  // namespace

void read_special_tokens_map(std::string_view content, TokenizerSettings& settings) {
  read_names(parse_object(content), true, settings);
}

void read_added_tokens(std::string_view content, TokenizerSettings& settings) {
  const Json object = parse_object(content);
  std::vector<AddedToken> found;
  for (const auto& [text, id] : object.items()) {
    const bool special = is_special(text, settings);
    AddedToken token = token_of(Json(text), special, !special);
    token.id = count_of(id, "the id of a token");
    found.push_back(std::move(token));
  }
  add_in_order_of_ids(std::move(found), settings.added_tokens);
}

bool read_tokenizer_config(std::string_view content, TokenizerSettings& settings) {
  const Json config = parse_object(content);
  if (const auto value = bool_member(config, "do_lower_case")) settings.lowercase = value;
  if (config.contains("strip_accents")) {
    settings.options.strip_accents = bool_member(config, "strip_accents");
  }
  if (const auto value = bool_member(config, "tokenize_chinese_chars")) {
    settings.options.handle_chinese_chars = *value;
  }
  const Json* length = member(config, "model_max_length");
  if (length != nullptr && length->is_number_unsigned()) {
    settings.options.model_max_length = length->get<uint64_t>();
  }
  const Json* decoder = member(config, "added_tokens_decoder");
  if (decoder != nullptr) {
    if (!decoder->is_object()) throw Error(Code::kBadData, "added_tokens_decoder is not an object");
    std::vector<AddedToken> found;
    for (const auto& [id, value] : decoder->items()) {
      AddedToken token = token_of(value, false, true);
      token.id = id_from_key(id);
      found.push_back(std::move(token));
    }
    add_in_order_of_ids(std::move(found), settings.added_tokens);
  }
  read_names(config, false, settings);
  return decoder != nullptr;
}

namespace {

// The line without the white space at its end, which `tokenizers` takes off.
std::string_view trimmed_end(std::string_view line) {
  while (!line.empty()) {
    const size_t begin = previous_character(line, line.size());
    if (!is_white_space(decode_at(line, begin).code_point)) break;
    line = line.substr(0, begin);
  }
  return line;
}

// Takes the white space at the ends of pieces off. A piece that is nothing else means nothing, and
// stays as it is.
void trim_pieces(std::vector<std::string>& pieces, std::vector<std::string>& rules) {
  bool has_changed = false;
  for (std::string& piece : pieces) {
    const size_t size = trimmed_end(piece).size();
    if (size == 0 || size == piece.size()) continue;
    piece.resize(size);
    has_changed = true;
  }
  if (has_changed)
    rules.emplace_back("white space at the ends of lines in vocab.txt does not count");
}

// Takes the empty pieces at the end off. But tokens that are added behind them keep their ids.
void drop_empty_end(const std::vector<AddedToken>& added, std::vector<std::string>& pieces,
                    std::vector<std::string>& rules) {
  const auto is_piece = [&](const AddedToken& token) {
    return std::ranges::find(pieces, token.content) != pieces.end();
  };
  if (pieces.empty() || !trimmed_end(pieces.back()).empty()) return;
  if (!std::ranges::all_of(added, is_piece)) return;
  while (!pieces.empty() && trimmed_end(pieces.back()).empty()) pieces.pop_back();
  rules.emplace_back("empty lines at the end of vocab.txt do not count");
}

// One piece per line; the line number is the id. As in Python, a line ends with \n, \r\n or \r.
std::vector<std::string> vocabulary_of_lines(std::string_view content) {
  std::vector<std::string> pieces;
  while (!content.empty()) {
    const size_t end = std::min(content.find_first_of("\r\n"), content.size());
    const std::string_view line = content.substr(0, end);
    if (find_invalid_utf8(line)) {
      throw Error(Code::kBadData, cat("line ", pieces.size() + 1, " is not UTF-8"));
    }
    pieces.emplace_back(line);
    content.remove_prefix(end);
    content.remove_prefix(content.starts_with("\r\n") ? 2 : content.empty() ? 0 : 1);
  }
  return pieces;
}

// Whether any piece has a capital letter, apart from pieces like "[UNK]" and "[unused1]".
bool is_cased(const std::vector<std::string>& pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [](const std::string& piece) {
    if (piece.starts_with('[') && piece.ends_with(']')) return false;
    return std::any_of(piece.begin(), piece.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  });
}

// Warns where the tokenizer writes words in another case than the vocabulary has them.
void warn_of_case(const std::vector<std::string>& pieces, bool lowercase) {
  const auto has_capital = [](const std::string& piece) {
    return !piece.starts_with('[') && !piece.starts_with('<') &&
           std::any_of(piece.begin(), piece.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  };
  const auto has_letter = [](const std::string& piece) {
    return !piece.starts_with('[') && !piece.starts_with('<') &&
           std::any_of(piece.begin(), piece.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  };
  const auto capitals = std::count_if(pieces.begin(), pieces.end(), has_capital);
  const auto letters = std::count_if(pieces.begin(), pieces.end(), has_letter);
  if (lowercase && capitals >= 20 && capitals * 100 >= letters) {
    log_warning(cat("the tokenizer lower-cases texts, but ", capitals,
                    " pieces of its vocabulary have capital letters, which it never makes: if the "
                    "model is a cased one, give --no-do-lower-case"));
  } else if (!lowercase && capitals == 0 && letters >= 20) {
    log_warning(
        "the tokenizer keeps capital letters, but no piece of its vocabulary has one, so it does "
        "not know such words: if the model is an uncased one, give --do-lower-case");
  }
}

// Lower-casing before a normalizer that does not lower-case is the same as lower-casing in it, but
// for accents, which stay unless the normalizer strips them.
void lower_first(BertTokenizerOptions& options) {
  if (options.lowercase) return;
  options.strip_accents = options.strip_accents.value_or(false);
  options.lowercase = true;
}

// Warns of special tokens that transformers would add to the vocabulary. To berth they are text.
// Throws kBadData if they come before added tokens for which no file has an id.
void warn_of_absent_names(const TokenizerSettings& settings, int32_t vocab_size) {
  const BertTokenizerOptions& options = settings.options;
  std::vector<std::string> names = settings.other_names, absent;
  names.insert(names.end(), {options.pad_token, options.mask_token});
  for (const std::string& name : names) {
    const bool is_known = std::ranges::any_of(
        options.added_tokens, [&](const AddedToken& token) { return token.content == name; });
    if (!is_known && std::ranges::find(absent, name) == absent.end()) absent.push_back(name);
  }
  if (absent.empty()) return;
  for (const AddedToken& token : options.added_tokens) {
    const auto of_file =
        std::ranges::find(settings.added_tokens, token.content, &AddedToken::content);
    if (token.id < vocab_size || of_file == settings.added_tokens.end() || of_file->id >= 0)
      continue;
    throw Error(Code::kBadData,
                cat("no file has the id of the added token ", quoted(token.content),
                    ", which transformers 5 numbers behind special tokens that vocab.txt does not "
                    "have: ",
                    listed_keys(absent)),
                "", "save the tokenizer with its tokenizer.json");
  }
  log_warning(cat("vocab.txt has no ", listed_keys(absent),
                  ". transformers 5 gives such special tokens new ids; to berth they are text"));
}

// What transformers' MPNetTokenizer has where the files do not say otherwise.
void name_mpnet_tokens(TokenizerSettings& settings) {
  settings.options.separates_twice = true;
  settings.options.trim_spans = true;
  settings.options.cls_token = "<s>";
  settings.options.sep_token = "</s>";
  settings.options.pad_token = "<pad>";
  settings.options.mask_token = "<mask>";
  settings.added_tokens.push_back({.content = "<mask>", .lstrip = true});
}

// Takes that <mask> out again where it is no token: a file names another one, or the vocabulary has
// none.
void remove_absent_mask(const std::vector<std::string>& pieces, TokenizerSettings& settings) {
  const bool is_token = settings.options.mask_token == "<mask>" &&
                        std::ranges::find(pieces, "<mask>") != pieces.end();
  std::erase_if(settings.added_tokens, [&](const AddedToken& token) {
    return !is_token && token.content == "<mask>" && token.id < 0;
  });
}

}  // namespace

std::unique_ptr<Tokenizer> load_bert_json(const FileLookup& file, const Json& root,
                                          const TokenizerOverrides& overrides) {
  TokenizerSettings settings, beside;
  const auto pieces = read_bert_tokenizer_json(root, settings);
  if (!pieces) return nullptr;
  read_settings(file, beside);
  BertTokenizerOptions& options = settings.options;
  if (options.separates_twice) name_mpnet_tokens(beside);
  options.pad_token = beside.options.pad_token;
  options.mask_token = beside.options.mask_token;
  options.model_max_length = beside.options.model_max_length;
  options.lowercase = overrides.do_lower_case.value_or(*settings.lowercase);
  const SequenceSettings sequences = sequence_settings(file, &root);
  options.has_token_types = !is_distilbert(file) && sequences.has_types;
  options.cuts_left = sequences.cuts_left;
  if (overrides.lowers_first) lower_first(options);
  warn_of_case(*pieces, options.lowercase);
  options.added_tokens = std::move(settings.added_tokens);
  return std::make_unique<BertTokenizer>(WordPiece(*pieces, settings.wordpiece),
                                         std::move(options));
}

std::unique_ptr<Tokenizer> load_bert_tokenizer(const FileLookup& file, const TokenizerClass& of,
                                               const TokenizerOverrides& overrides,
                                               std::vector<std::string>* rules) {
  const bool warns = rules != nullptr;
  TokenizerSettings settings;
  std::vector<std::string> pieces;
  if (of.kind == TokenizerKind::kMpnet) name_mpnet_tokens(settings);
  read_if_present(file("vocab.txt"), "vocab.txt",
                  [&](const std::string& content) { pieces = vocabulary_of_lines(content); });
  read_settings(file, settings);
  if (rules != nullptr) {
    trim_pieces(pieces, *rules);
    drop_empty_end(settings.added_tokens, pieces, *rules);
  }
  if (of.kind == TokenizerKind::kMpnet) remove_absent_mask(pieces, settings);
  if (overrides.do_lower_case) settings.lowercase = overrides.do_lower_case;
  const SequenceSettings sequences = sequence_settings(file, nullptr);
  settings.options.has_token_types = !is_distilbert(file) && sequences.has_types;
  settings.options.cuts_left = sequences.cuts_left;
  const bool keeps_case = !settings.lowercase && is_cased(pieces);
  settings.options.lowercase = settings.lowercase.value_or(!keeps_case);
  if (warns && keeps_case) {
    log_warning(
        "no file says do_lower_case, and vocab.txt has capital letters, so berth keeps them; "
        "transformers 5 lower-cases. Give --no-do-lower-case or --do-lower-case, or write "
        "do_lower_case into tokenizer_config.json");
  }
  if (overrides.lowers_first) lower_first(settings.options);
  if (warns) warn_of_case(pieces, settings.options.lowercase);
  try {
    WordPiece wordpiece(pieces, settings.wordpiece);
    settings.options.added_tokens =
        added_tokens_with_ids(settings, wordpiece.size(),
                              [&](const std::string& token) { return wordpiece.find(token); });
    if (warns) warn_of_absent_names(settings, wordpiece.size());
    return std::make_unique<BertTokenizer>(std::move(wordpiece), std::move(settings.options));
  } catch (const Error& error) {
    throw error.at("vocab.txt");
  }
}

namespace {

// merges.txt as tokenizer.json has it. Each line is "left right", best rank first. The first line
// may be "#version: 0.2".
Json read_merges(std::string_view content) {
  Json merges = Json::array();
  for (size_t number = 1; !content.empty(); ++number) {
    const size_t end = std::min(content.find('\n'), content.size());
    std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (number == 1 && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    if (space == line.npos) throw Error(Code::kBadData, cat("line ", number, " is not two tokens"));
    merges.push_back(Json::array({line.substr(0, space), line.substr(space + 1)}));
  }
  return merges;
}

// Whether the token takes the whitespace before it.
bool takes_space(const Json& root, std::string_view content) {
  return std::ranges::any_of(root["added_tokens"], [&](const Json& token) {
    return token["content"] == content && token["lstrip"] == true;
  });
}

}  // namespace

std::unique_ptr<Tokenizer> load_merges(const FileLookup& file, const std::string& vocabulary,
                                       const std::string& merges, TokenizerClass of,
                                       const TokenizerOverrides& overrides,
                                       std::vector<std::string>& rules) {
  const std::vector<Tokenizer::File> files =
      with_settings(file, of, {{"vocab.json", vocabulary}, {"merges.txt", merges}});
  if (of.kind == TokenizerKind::kUnknown) of.kind = TokenizerKind::kRoberta;
  of.rebuilds = true;
  Json root = {{"model", Json::object()}};
  read_if_present(vocabulary, "vocab.json", [&](const std::string& content) {
    root["model"]["vocab"] = parse_object(content);
  });
  read_if_present(merges, "merges.txt", [&](const std::string& content) {
    root["model"]["merges"] = read_merges(content);
  });
  read_as_class(file, of, overrides, root);
  if (of.kind == TokenizerKind::kRoberta && !takes_space(root, "<mask>")) {
    rules.emplace_back("<mask> beside vocab.json takes no space before it");
  }
  return load_pipeline(root, sequence_settings(file, nullptr), overrides, files);
}

namespace {

SpecialTokensTemplate ending_with(int32_t sep) {
  using Part = TemplatePart;
  return {.single = {{Part::kFirst, -1, 0}, {Part::kToken, sep, 0}},
          .pair = {{Part::kFirst, -1, 0},
                   {Part::kToken, sep, 0},
                   {Part::kSecond, -1, 0},
                   {Part::kToken, sep, 0}}};
}

// Chooses the template by the control pieces of a model whose class no file names.
SpecialTokensTemplate template_of_pieces(const SentencePieceModel& model) {
  const int32_t cls = model.find("[CLS]"), sep = model.find("[SEP]");
  if (cls >= 0 && sep >= 0) return SpecialTokensTemplate::bert(cls, sep);
  const int32_t bos = model.find("<s>"), eos = model.find("</s>");
  if (bos >= 0 && eos >= 0) return SpecialTokensTemplate::roberta(bos, eos);
  if (eos >= 0) return ending_with(eos);
  return {.single = {{TemplatePart::kFirst, -1, 0}},
          .pair = {{TemplatePart::kFirst, -1, 0}, {TemplatePart::kSecond, -1, 1}}};
}

}  // namespace

std::unique_ptr<Tokenizer> load_sentencepiece(const FileLookup& file, const char* name,
                                              const std::string& content, const TokenizerClass& of,
                                              const TokenizerOverrides& overrides) {
  if (!of.rebuilds && (!of.name.empty() || !of.type.empty())) {
    throw Error(Code::kBadData,
                "no file names the class of the tokenizer, which decides the ids of this model",
                name,
                "add tokenizer_class to tokenizer_config.json, such as XLMRobertaTokenizer, or "
                "save the tokenizer with its tokenizer.json");
  }
  const SequenceSettings sequences = sequence_settings(file, nullptr);
  const bool has_case = of.kind == TokenizerKind::kAlbert || of.kind == TokenizerKind::kDebertaV2;
  std::vector<Tokenizer::File> files =
      with_settings(file, of, {{name, content}}, has_case ? overrides : TokenizerOverrides());
  std::unique_ptr<Tokenizer> tokenizer;
  read_if_present(content, name, [&](const std::string& bytes) {
    SentencePieceModel model = parse_sentencepiece_model(bytes);
    if (of.rebuilds) {
      Json root = tokenizer_json_of(model);
      const SentencePieceTokens special = special_pieces_of(model);
      read_as_class(file, of, overrides, root, &special);
      tokenizer = load_pipeline(root, sequences, overrides, std::move(files));
      return;
    }
    SentencePieceOptions options{.special = template_of_pieces(model),
                                 .prepare = overrides.lowers_first ? lower_casing() : nullptr,
                                 .files = std::move(files)};
    sequences.apply(options.special);
    tokenizer = std::make_unique<SentencePieceTokenizer>(std::move(model), std::move(options));
  });
  return tokenizer;
}

namespace {

std::string type_of(const Json& root, const char* name) {
  const Json* part = member(root, name);
  return part == nullptr ? "" : string_member(*part, "type").value_or("");
}

void read_normalizer(const Json& root, TokenizerSettings& settings) {
  BertTokenizerOptions& options = settings.options;
  const Json* normalizer = member(root, "normalizer");
  if (normalizer == nullptr) {
    options.clean_text = options.handle_chinese_chars = false;
    settings.lowercase = false;
    return;
  }
  options.clean_text = bool_member(*normalizer, "clean_text").value_or(true);
  options.handle_chinese_chars = bool_member(*normalizer, "handle_chinese_chars").value_or(true);
  options.strip_accents = bool_member(*normalizer, "strip_accents");
  settings.lowercase = bool_member(*normalizer, "lowercase").value_or(true);
}

std::optional<std::string> special_token_of(const Json& part) {
  const Json* token = member(part, "SpecialToken");
  return token == nullptr ? std::nullopt : string_member(*token, "id");
}

// Returns the first text of "sep" or "cls" in BertProcessing or RobertaProcessing.
std::optional<std::string> first_text(const Json& processor, const char* name) {
  const Json* value = member(processor, name);
  if (value == nullptr || !value->is_array() || value->empty() || !value->front().is_string()) {
    return std::nullopt;
  }
  return value->front().get<std::string>();
}

int32_t id_in(const Json& root, const std::string& token) {
  for (const AddedToken& added : read_added_tokens_list(root)) {
    if (added.content == token) return added.id;
  }
  const Json* vocabulary = member(*member(root, "model"), "vocab");
  const Json* id = vocabulary == nullptr ? nullptr : member(*vocabulary, token.c_str());
  return id == nullptr ? -1 : count_of(*id, "the id of a piece");
}

// Reads the names of [CLS] and [SEP] from BertProcessing, from RobertaProcessing, which MPNet has,
// or from the templates "[CLS] A [SEP]" and "[CLS] A [SEP] B [SEP]" with BERT's types. Returns
// false for any other post-processor, and if a name has another id in the vocabulary.
bool read_post_processor(const Json& root, BertTokenizerOptions& options) {
  const Json* processor = member(root, "post_processor");
  if (processor == nullptr) return false;
  const std::string type = type_of(root, "post_processor");
  std::optional<std::string> cls, sep;
  const Json* single = member(*processor, "single");
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    cls = first_text(*processor, "cls");
    sep = first_text(*processor, "sep");
  } else if (type == "TemplateProcessing" && single != nullptr && single->size() == 3) {
    cls = special_token_of((*single)[0]);
    sep = special_token_of((*single)[2]);
  }
  if (!cls || !sep) return false;
  options.separates_twice = type == "RobertaProcessing";
  options.cls_token = *cls;
  options.sep_token = *sep;
  const int32_t cls_id = id_in(root, *cls), sep_id = id_in(root, *sep);
  const PostProcessing post = read_post_processing(to_text(*processor));
  options.trim_spans = post.trim_spans;
  options.add_prefix_space = post.add_prefix_space;
  return post.special == (options.separates_twice ? SpecialTokensTemplate::roberta(cls_id, sep_id)
                                                  : SpecialTokensTemplate::bert(cls_id, sep_id));
}

std::vector<std::string> pieces_by_id(const Json& model) {
  const Json* vocabulary = member(model, "vocab");
  if (vocabulary == nullptr || !vocabulary->is_object()) {
    throw Error(Code::kBadData, "its model has no vocab");
  }
  std::vector<std::string> pieces;
  const size_t most = 4 * vocabulary->size() + 1000;  // ids may have some gaps
  for (const auto& [piece, id] : vocabulary->items()) {
    const auto index = static_cast<size_t>(count_of(id, "the id of a piece"));
    if (index >= most) {
      throw Error(Code::kBadData, cat("the id of ", quoted(piece), " is ", index,
                                      " in a vocabulary of ", vocabulary->size()));
    }
    if (index >= pieces.size()) pieces.resize(index + 1);
    pieces[index] = piece;
  }
  return pieces;
}

}  // namespace

std::optional<std::vector<std::string>> read_bert_tokenizer_json(const Json& root,
                                                                 TokenizerSettings& settings) {
  const Json* model = member(root, "model");
  if (model == nullptr) throw Error(Code::kBadData, "it has no model");
  const std::string model_type = type_of(root, "model"), normalizer = type_of(root, "normalizer");
  if ((!model_type.empty() && model_type != "WordPiece") || member(*model, "merges") != nullptr ||
      (member(root, "normalizer") != nullptr && normalizer != "BertNormalizer") ||
      type_of(root, "pre_tokenizer") != "BertPreTokenizer" ||
      !read_post_processor(root, settings.options)) {
    return std::nullopt;
  }
  read_normalizer(root, settings);
  WordPieceOptions& wordpiece = settings.wordpiece;
  if (const auto unk = string_member(*model, "unk_token")) wordpiece.unk_token = *unk;
  if (const auto prefix = string_member(*model, "continuing_subword_prefix")) {
    wordpiece.continuing_subword_prefix = *prefix;
  }
  if (const Json* limit = member(*model, "max_input_chars_per_word")) {
    wordpiece.max_input_chars_per_word =
        static_cast<uint64_t>(count_of(*limit, "max_input_chars_per_word"));
  }
  if (const Json* added = member(root, "added_tokens"); added != nullptr && added->is_array()) {
    for (const Json& value : *added) {
      AddedToken token = token_of(value, false, true);
      if (const Json* id = member(value, "id")) token.id = count_of(*id, "the id of a token");
      settings.added_tokens.push_back(std::move(token));
    }
  }
  return pieces_by_id(*model);
}

}  // namespace berth
