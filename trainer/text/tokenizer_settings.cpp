#include "trainer/text/tokenizer_settings.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/text/json_reading.h"

namespace berth {

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
void read_names(const Json& object, TokenizerSettings& settings) {
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
  if (list == nullptr || list->empty()) list = member(object, "additional_special_tokens");
  if (list != nullptr && (list->is_array() || list->is_object())) {
    for (const Json& value : *list) {
      AddedToken token = token_of(value, true, false);
      const bool known =
          std::any_of(settings.added_tokens.begin(), settings.added_tokens.end(),
                      [&](const AddedToken& other) { return other.content == token.content; });
      if (!known || value.is_object()) add(std::move(token), settings.added_tokens);
    }
  }
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
  read_names(parse_object(content), settings);
}

void read_added_tokens(std::string_view content, TokenizerSettings& settings) {
  const Json object = parse_object(content);
  std::vector<AddedToken> found;
  for (const auto& [text, id] : object.items()) {
    AddedToken token = token_of(Json(text), false, true);
    token.id = count_of(id, "the id of a token");
    found.push_back(std::move(token));
  }
  add_in_order_of_ids(std::move(found), settings.added_tokens);
}

void read_tokenizer_config(std::string_view content, TokenizerSettings& settings) {
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
  if (const Json* decoder = member(config, "added_tokens_decoder")) {
    if (!decoder->is_object()) throw Error(Code::kBadData, "added_tokens_decoder is not an object");
    std::vector<AddedToken> found;
    for (const auto& [id, value] : decoder->items()) {
      AddedToken token = token_of(value, false, true);
      token.id = id_from_key(id);
      found.push_back(std::move(token));
    }
    add_in_order_of_ids(std::move(found), settings.added_tokens);
  }
  read_names(config, settings);
}

}  // namespace berth
