#pragma once

#include <cstdint>
#include <string_view>

namespace berth {

// FNV-1a (Fowler, Noll and Vo 1991): a hash that is the same in every process. Not for texts that
// somebody may choose so that they collide.
constexpr uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace berth
