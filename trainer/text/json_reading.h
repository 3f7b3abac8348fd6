#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/base/json.h"
#include "trainer/text/added_tokens.h"

// How this folder reads JSON that others wrote.
namespace berth {

// Throws kCorrupt unless `content` is one JSON object, of a depth that recursion can follow.
Json parse_object(std::string_view content);

// The member, or null where absent or null. `object` outlives it.
const Json* member(const Json& object, const char* name);

// Absent and null are nullopt; throws kBadData for another kind.
std::optional<bool> bool_member(const Json& object, const char* name);
std::optional<std::string> string_member(const Json& object, const char* name);

// A whole number from 0 to 2^28: an id, a length. Throws kBadData for anything else.
int32_t count_of(const Json& value, const char* name);

// A token given as its text or as {"content", "lstrip", ...}; `special` and `normalized` are what
// holds where that does not say.
AddedToken token_of(const Json& value, bool special, bool normalized);

}  // namespace berth
