#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

struct PJRT_NamedValue;

namespace berth {

// An option of a client or of a compilation, or an attribute that a plugin tells of itself.
using PjrtValue = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;

struct PjrtNamedValue {
  std::string name;
  PjrtValue value;

  bool operator==(const PjrtNamedValue&) const = default;
};

// "name=value", for messages and cache keys: allocator=bfc, preallocate=false, mesh=[2,4].
std::string to_text(const PjrtNamedValue& named);

// Copies what a plugin returned. Values of kinds that this program does not know are left out.
std::vector<PjrtNamedValue> from_plugin(const PJRT_NamedValue* values, size_t count);

// The plugin's form of each value. The result borrows the strings and lists of `values`.
std::vector<PJRT_NamedValue> for_plugin(const std::vector<PjrtNamedValue>& values);

}  // namespace berth
