#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"
#include "trainer/text/load_kinds.h"

namespace berth {

namespace {

constexpr const char* kSettingsFiles[] = {"tokenizer_config.json", "special_tokens_map.json",
                                          "added_tokens.json"};

struct KindName {
  std::string_view name;  // model_type in config.json, or the class without "Tokenizer"
  TokenizerKind kind;
};
constexpr KindName kKindNames[] = {
    {"albert", TokenizerKind::kAlbert},
    {"bert", TokenizerKind::kBert},
    {"camembert", TokenizerKind::kCamembert},
    {"deberta", TokenizerKind::kDeberta},
    {"debertav2", TokenizerKind::kDebertaV2},
    {"distilbert", TokenizerKind::kBert},
    {"electra", TokenizerKind::kBert},
    {"gpt2", TokenizerKind::kRoberta},
    {"longformer", TokenizerKind::kRoberta},
    {"mobilebert", TokenizerKind::kBert},
    {"mpnet", TokenizerKind::kMpnet},
    {"mt5", TokenizerKind::kT5},
    {"nomicbert", TokenizerKind::kBert},
    {"roberta", TokenizerKind::kRoberta},
    {"t5", TokenizerKind::kT5},
    {"xlmroberta", TokenizerKind::kXlmRoberta},
    {"xlmrobertaxl", TokenizerKind::kXlmRoberta},
};

// "XLMRobertaTokenizerFast" and "xlm-roberta" both become "xlmroberta".
std::string plain_name(std::string name) {
  std::erase_if(name, [](char c) { return c == '-' || c == '_'; });
  for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const std::string_view ending : {"fast", "tokenizer"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

TokenizerKind kind_named(const std::string& name) {
  const auto found = std::find_if(std::begin(kKindNames), std::end(kKindNames),
                                  [&](const KindName& row) { return row.name == name; });
  return found == std::end(kKindNames) ? TokenizerKind::kUnknown : found->kind;
}

std::string name_in(const FileLookup& file, const char* file_name, const char* key) {
  std::string name;
  read_if_present(file(file_name), file_name, [&](const std::string& content) {
    name = plain_name(string_member(parse_object(content), key).value_or(""));
  });
  return name;
}

std::string name_of_class(const FileLookup& file) {
  return name_in(file, "tokenizer_config.json", "tokenizer_class");
}

std::string name_of_model(const FileLookup& file) {
  return name_in(file, "config.json", "model_type");
}

}  // namespace

TokenizerKind tokenizer_kind(const FileLookup& file) {
  const TokenizerKind kind = kind_named(name_of_class(file));
  return kind != TokenizerKind::kUnknown ? kind : kind_named(name_of_model(file));
}

bool is_distilbert(const FileLookup& file) {
  return name_of_class(file) == "distilbert" || name_of_model(file) == "distilbert";
}

void read_settings(const FileLookup& file, TokenizerSettings& settings) {
  read_if_present(file("special_tokens_map.json"), "special_tokens_map.json",
                  [&](const std::string& content) { read_special_tokens_map(content, settings); });
  read_if_present(file("added_tokens.json"), "added_tokens.json",
                  [&](const std::string& content) { read_added_tokens(content, settings); });
  read_if_present(file("tokenizer_config.json"), "tokenizer_config.json",
                  [&](const std::string& content) { read_tokenizer_config(content, settings); });
}

std::vector<Tokenizer::File> with_settings(const FileLookup& file,
                                           std::vector<Tokenizer::File> files) {
  for (const char* name : kSettingsFiles) {
    if (auto content = file(name)) files.push_back({name, std::move(*content)});
  }
  return files;
}

std::vector<AddedToken> added_tokens_with_ids(
    const TokenizerSettings& settings, int32_t vocab_size,
    const std::function<int32_t(const std::string&)>& find) {
  std::vector<AddedToken> tokens = settings.added_tokens;
  const BertTokenizerOptions& options = settings.options;
  for (const std::string& name : {settings.wordpiece.unk_token, options.sep_token,
                                  options.pad_token, options.cls_token, options.mask_token}) {
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
  return tokens;
}

int32_t id_of_token(const std::string& name, const std::vector<AddedToken>& tokens) {
  const auto found = std::find_if(tokens.begin(), tokens.end(),
                                  [&](const AddedToken& token) { return token.content == name; });
  if (found == tokens.end()) {
    throw Error(Code::kBadData, cat("the vocabulary has no ", quoted(name)));
  }
  return found->id;
}

}  // namespace berth
