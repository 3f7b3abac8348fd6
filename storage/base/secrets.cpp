#include "storage/base/secrets.h"

#include <cstddef>
#include <mutex>

#include "storage/base/secret_set.h"

namespace berth {
namespace {

constexpr size_t kShortestSecret = 8, kSharedWithSecret = 16;

std::mutex secrets_mutex;
SecretSet known_secrets;

}  // namespace

void remember_secret(std::string_view secret) {
  if (secret.size() < kShortestSecret) return;
  const std::lock_guard lock(secrets_mutex);
  known_secrets.add(secret);
}

std::string without_known_secrets(std::string_view text) {
  const std::lock_guard lock(secrets_mutex);
  if (known_secrets.empty()) return std::string(text);
  const std::vector<bool> is_secret = known_secrets.find_in(text, kSharedWithSecret);
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

}  // namespace berth
