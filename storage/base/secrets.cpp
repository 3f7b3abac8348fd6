#include "storage/base/secrets.h"

#include <algorithm>
#include <cstddef>
#include <mutex>

namespace berth {
namespace {

constexpr size_t kShortestSecret = 8, kSharedWithSecret = 16, kMostSecrets = 32;

std::mutex secrets_mutex;
std::vector<std::string> known_secrets;  // the last one is the newest

}  // namespace

void remember_secret(std::string_view secret) {
  if (secret.size() < kShortestSecret) return;
  const std::lock_guard lock(secrets_mutex);
  std::erase(known_secrets, secret);
  if (known_secrets.size() == kMostSecrets) known_secrets.erase(known_secrets.begin());
  known_secrets.emplace_back(secret);
}

std::string without_known_secrets(std::string_view text) {
  const std::lock_guard lock(secrets_mutex);
  if (known_secrets.empty()) return std::string(text);
  const std::vector<bool> is_secret = secret_bytes(text, known_secrets, kSharedWithSecret);
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    if (!is_secret[i]) {
      shown += text[i];
    } else if (i == 0 || !is_secret[i - 1]) {
      shown += "...";
    }
  }
  return shown;
}

std::vector<bool> secret_bytes(std::string_view text, std::span<const std::string> secrets,
                               size_t shared) {
  std::vector<bool> is_secret(text.size());
  for (const std::string_view secret : secrets) {
    const size_t window = std::min(secret.size(), shared);
    for (size_t begin = 0; window > 0 && begin + window <= text.size(); ++begin) {
      if (secret.find(text.substr(begin, window)) == std::string_view::npos) continue;
      std::fill_n(is_secret.begin() + static_cast<ptrdiff_t>(begin), window, true);
    }
  }
  return is_secret;
}

}  // namespace berth
