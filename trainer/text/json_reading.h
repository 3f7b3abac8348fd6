#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/json.h"
#include "trainer/text/added_tokens.h"

// Helpers to read JSON files of tokenizers.
namespace berth {

// Throws kCorrupt unless `content` is one JSON object of at most kDeepestJson levels.
Json parse_object(std::string_view content);

// Returns the member, or a null pointer if it is absent or null. `object` must outlive the result.
const Json* member(const Json& object, const char* name);

// Return nullopt if the member is absent or null. Throw kBadData if it has a different type.
std::optional<bool> bool_member(const Json& object, const char* name);
std::optional<std::string> string_member(const Json& object, const char* name);

// Returns an integer from 0 to 2^28, such as an id or a length. Throws kBadData for anything else.
int32_t count_of(const Json& value, const char* name);

// Reads a token, which is a string or {"content", "lstrip", ...}. `special` and `normalized` are
// the defaults for members that are missing.
AddedToken token_of(const Json& value, bool special, bool normalized);

}  // namespace berth
