#include "trainer/text/json_reading.h"

#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

Json parse_object(std::string_view content) {
  if (nesting_depth(content) > kDeepestJson) throw Error(Code::kCorrupt, "JSON nested too deeply");
  Json parsed = parse_json(content);
  if (!parsed.is_object()) throw Error(Code::kCorrupt, "not a JSON object");
  return parsed;
}

namespace {

[[noreturn]] void refuse_member(const std::string& name, const std::string& problem) {
  throw Error(Code::kBadData, cat(name, " ", problem));
}

}  // namespace

const Json* member(const Json& object, const char* name) { return JsonObject(object).find(name); }

std::optional<bool> bool_member(const Json& object, const char* name) {
  return JsonObject(object, refuse_member).flag(name);
}

std::optional<std::string> string_member(const Json& object, const char* name) {
  return JsonObject(object, refuse_member).text(name);
}

int32_t count_of(const Json& value, const char* name) {
  if (!value.is_number_integer() || value < 0 || value > (1 << 28)) {
    throw Error(Code::kBadData, cat(name, " is not a whole number from 0 to 2^28"));
  }
  return value.get<int32_t>();
}

AddedToken token_of(const Json& value, bool special, bool normalized) {
  AddedToken token;
  if (value.is_string()) {
    token.content = value.get<std::string>();
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
