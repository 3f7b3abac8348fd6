#include "storage/base/known_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

std::vector<KnownKey> known_keys(std::string_view read, std::string_view harmless,
                                 std::span<const KnownKey> fixed) {
  std::vector<KnownKey> keys(fixed.begin(), fixed.end());
  for (const std::string_view name : words_in(read)) keys.push_back({name, KeyUse::kRead});
  for (const std::string_view name : words_in(harmless)) keys.push_back({name, KeyUse::kHarmless});
  return keys;
}

std::vector<std::string> check_keys(const Json& object, std::span<const KnownKey> known) {
  std::vector<std::string> unknown;
  if (!object.is_object()) return unknown;
  for (const auto& [name, value] : object.items()) {
    const auto found = std::ranges::find(known, name, &KnownKey::name);
    if (found == known.end()) {
      unknown.push_back(name);
      continue;
    }
    if (found->use != KeyUse::kFixed || value.is_null()) continue;
    const Json values = parse_json(found->values);
    if (std::ranges::find(values, value) != values.end()) continue;
    throw Error(Code::kUsage,
                cat(quoted(name), " is ", to_text(value), ", with which berth does not compute",
                    values.empty() ? "" : cat("; known is ", found->values)),
                "", name.starts_with("quantization") ? "give the model that was quantized" : "");
  }
  return unknown;
}

std::string listed_keys(const std::vector<std::string>& names) {
  constexpr size_t kMost = 8;
  return names.size() > kMost ? joined_first(names, kMost) : enumerated(names);
}

}  // namespace berth
