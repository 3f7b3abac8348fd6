#include "trainer/data/context_tokens.h"

#include <functional>
#include <utility>

namespace berth {

size_t RecentContexts::place_of(std::string_view text) {
  return std::hash<std::string_view>()(text) % kPlaces;
}

std::shared_ptr<const ContextTokens> RecentContexts::find(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  const Place& place = places_[place_of(text)];
  return place.text == text ? place.tokens : nullptr;
}

void RecentContexts::keep(std::string_view text, std::shared_ptr<const ContextTokens> tokens) {
  const std::lock_guard lock(mutex_);
  Place& place = places_[place_of(text)];
  place = {};
  if (held_bytes() + text.size() + tokens->memory_bytes() > kMostBytes) places_ = {};
  place = {std::string(text), std::move(tokens)};
}

size_t RecentContexts::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t size_bytes = 0;
  for (const Place& place : places_) {
    size_bytes += place.tokens.use_count() > 1 ? place.text.capacity() : place.memory_bytes();
  }
  return size_bytes;
}

size_t RecentContexts::held_bytes() const {
  size_t size_bytes = 0;
  for (const Place& place : places_) size_bytes += place.memory_bytes();
  return size_bytes;
}

}  // namespace berth
