#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/json.h"

// What the program does with each key of a configuration that other programs write. The rule: a key
// that changes numbers is read, or refused by name. A key that nobody knows is named to the user.
namespace berth {

enum class KeyUse : unsigned char {
  kRead,      // the reader of the file computes with it
  kHarmless,  // it changes nothing that the program computes
  kFixed,     // refused, unless it has one of the values with which the program computes
};

struct KnownKey {
  std::string_view name;
  KeyUse use;
  std::string_view values = "";  // of kFixed: a list in JSON. null and an absent key always fit
};

// One table of the names in `read` and `harmless`, which stand between blanks, and of `fixed`. The
// texts must outlive it.
std::vector<KnownKey> known_keys(std::string_view read, std::string_view harmless,
                                 std::span<const KnownKey> fixed);

// Throws kUsage, naming the key, if a key of kFixed has another value. Returns the keys of `object`
// that `known` does not have. A value that is no object has no keys.
std::vector<std::string> check_keys(const Json& object, std::span<const KnownKey> known);

// "a, b and c", of at most 8 names.
std::string listed_keys(const std::vector<std::string>& names);

}  // namespace berth
