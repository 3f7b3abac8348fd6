#include "storage/google/secret_text.h"

#include <cstddef>
#include <cstring>

#include "storage/base/secrets.h"

namespace berth {
namespace {

constexpr size_t kLongestShared = 7;

}  // namespace

void wipe(std::string& secret) {
  explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets,
                            size_t limit) {
  // A secret shorter than eight bytes is searched for as a whole.
  text = text.substr(0, 4 * limit);
  const std::vector<bool> is_secret = secret_bytes(text, secrets, kLongestShared + 1);
  std::string shown;
  for (size_t i = 0; i < text.size() && shown.size() < limit; ++i) {
    if (!is_secret[i]) {
      shown += text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    } else if (i == 0 || !is_secret[i - 1]) {
      shown += "...";
    }
  }
  return shown.substr(0, limit);
}

}  // namespace berth
