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

}  // namespace

void read_settings(const FileLookup& file, TokenizerSettings& settings) {
  read_if_present(file("special_tokens_map.json"), "special_tokens_map.json",
                  [&](const std::string& content) { read_special_tokens_map(content, settings); });
  read_if_present(file("added_tokens.json"), "added_tokens.json",
                  [&](const std::string& content) { read_added_tokens(content, settings); });
  read_if_present(file("tokenizer_config.json"), "tokenizer_config.json",
                  [&](const std::string& content) { read_tokenizer_config(content, settings); });
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
  SequenceSettings settings;
  std::optional<std::string> side;
  read_if_present(
      file("tokenizer_config.json"), "tokenizer_config.json", [&](const std::string& content) {
        const Json config = parse_object(content);
        side = string_member(config, "truncation_side");
        const Json* names = member(config, "model_input_names");
        settings.names_inputs = names != nullptr && names->is_array();
        settings.has_types =
            settings.names_inputs
                ? std::find(names->begin(), names->end(), "token_type_ids") != names->end()
                : string_member(config, "tokenizer_class") != "TokenizersBackend";
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

int32_t id_of_token(const std::string& name, const std::vector<AddedToken>& tokens) {
  const auto found = std::find_if(tokens.begin(), tokens.end(),
                                  [&](const AddedToken& token) { return token.content == name; });
  if (name.empty()) throw Error(Code::kBadData, "a special token that the class needs has no name");
  if (found == tokens.end()) {
    throw Error(Code::kBadData, cat("the vocabulary has no ", quoted(name)));
  }
  return found->id;
}

}  // namespace berth
