#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace berth {

// The tokens of a context, as they are in every pair of a question with it.
struct ContextTokens {
  std::vector<int32_t> ids;
  std::vector<Span> offsets;  // in code points of the context

  size_t memory_bytes() const {
    return ids.size() * sizeof(int32_t) + offsets.size() * sizeof(Span);
  }
};

// Keeps the contexts of late, because a file asks many questions about each: up to 16, which hold
// no more than 32 MiB together, or the last one alone. Thread-safe.
class RecentContexts {
 public:
  // Null if it is not one of them.
  std::shared_ptr<const ContextTokens> find(std::string_view text) const;
  void keep(std::string_view text, std::shared_ptr<const ContextTokens> tokens);
  // What they hold, in bytes, without tokens that others hold, too.
  size_t memory_bytes() const;

 private:
  static constexpr size_t kPlaces = 16, kMostBytes = size_t{32} << 20;

  struct Place {
    std::string text{};
    std::shared_ptr<const ContextTokens> tokens{};  // null: the place is free

    size_t memory_bytes() const { return tokens ? text.capacity() + tokens->memory_bytes() : 0; }
  };
  static size_t place_of(std::string_view text);
  size_t held_bytes() const;

  mutable std::mutex mutex_;
  std::array<Place, kPlaces> places_;
};

}  // namespace berth
