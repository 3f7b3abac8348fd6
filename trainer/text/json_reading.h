#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/text/added_tokens.h"

// How this folder reads JSON that others wrote. Json is nlohmann::json, which headers do not see.
namespace berth {

// How deep brackets stand in brackets, those in texts aside.
inline size_t nesting_depth(std::string_view json) {
  size_t depth = 0, deepest = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

// Throws kCorrupt unless `content` is one JSON object, of a depth that recursion can follow.
template <typename Json>
Json parse_object(std::string_view content) {
  constexpr size_t kDeepest = 100;
  if (nesting_depth(content) > kDeepest) throw Error(Code::kCorrupt, "JSON nested too deeply");
  Json parsed = Json::parse(content, nullptr, false);
  if (!parsed.is_object()) throw Error(Code::kCorrupt, "not a JSON object");
  return parsed;
}

// The member, or null where absent or null. `object` outlives it.
template <typename Json>
const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

// Absent and null are nullopt; throws kBadData for another kind.
template <typename Json>
std::optional<bool> bool_member(const Json& object, const char* name) {
  const Json* value = member(object, name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) throw Error(Code::kBadData, cat(name, " is not true or false"));
  return value->template get<bool>();
}

template <typename Json>
std::optional<std::string> string_member(const Json& object, const char* name) {
  const Json* value = member(object, name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) throw Error(Code::kBadData, cat(name, " is not a string"));
  return value->template get<std::string>();
}

// A whole number from 0 to 2^28: an id, a length. Throws kBadData for anything else.
template <typename Json>
int32_t count_of(const Json& value, const char* name) {
  if (!value.is_number_integer() || value < 0 || value > (1 << 28)) {
    throw Error(Code::kBadData, cat(name, " is not a whole number from 0 to 2^28"));
  }
  return value.template get<int32_t>();
}

// A token given as its text or as {"content", "lstrip", ...}; `special` and `normalized` are what
// holds where that does not say.
template <typename Json>
AddedToken token_of(const Json& value, bool special, bool normalized) {
  AddedToken token;
  if (value.is_string()) {
    token.content = value.template get<std::string>();
  } else {
    token.content = string_member(value, "content").value_or("");
    token.single_word = bool_member(value, "single_word").value_or(false);
    token.lstrip = bool_member(value, "lstrip").value_or(false);
    token.rstrip = bool_member(value, "rstrip").value_or(false);
  }
  token.special = bool_member(value, "special").value_or(special);
  token.normalized = bool_member(value, "normalized").value_or(normalized);
  if (token.content.empty()) throw Error(Code::kBadData, "a special token has no text");
  return token;
}

}  // namespace berth
