#include "storage/base/secret_set.h"

#include <algorithm>
#include <cstring>

#include "storage/base/readings.h"

namespace berth {
namespace {

constexpr size_t kMostSecrets = 64;

uint32_t beginning_of(std::string_view text) {
  uint32_t bytes = 0;
  static_assert(sizeof bytes == SecretSet::kShortest);
  std::memcpy(&bytes, text.data(), sizeof bytes);
  return bytes;
}

}  // namespace

void SecretSet::add(std::string_view secret) {
  add_form(without_escapes(secret));
  add_form(secret);
}

void SecretSet::add_form(std::string_view secret) {
  if (secret.size() < kShortest) return;
  const bool is_known = std::erase(secrets_, secret) > 0;
  if (secrets_.size() == kMostSecrets) secrets_.erase(secrets_.begin());
  secrets_.emplace_back(secret);
  if (is_known) return;
  add_beginnings(secret);
  size_t size_bytes = 0;
  for (const std::string& held : secrets_) size_bytes += held.size();
  if (beginnings_.size() <= 2 * size_bytes) return;
  beginnings_.clear();
  for (const std::string& held : secrets_) add_beginnings(held);
}

void SecretSet::add_beginnings(std::string_view secret) {
  for (size_t begin = 0; begin + kShortest <= secret.size(); ++begin) {
    beginnings_.insert(beginning_of(secret.substr(begin)));
  }
}

std::vector<bool> SecretSet::find_in(std::string_view text, size_t shared) const {
  std::vector<bool> found(text.size());
  for_each_reading(text, [&](const Reading& reading) {
    const std::string_view bytes = reading.bytes;
    for (size_t begin = 0; begin + kShortest <= bytes.size(); ++begin) {
      if (!beginnings_.contains(beginning_of(bytes.substr(begin)))) continue;
      for (const std::string_view secret : secrets_) {
        const std::string_view passage = bytes.substr(begin, std::min(secret.size(), shared));
        if (passage.size() < std::min(secret.size(), shared) ||
            secret.find(passage) == std::string_view::npos) {
          continue;
        }
        std::fill(found.begin() + reading.begin[begin],
                  found.begin() + reading.end[begin + passage.size() - 1], true);
      }
    }
  });
  return found;
}

}  // namespace berth
