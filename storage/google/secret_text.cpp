#include "storage/google/secret_text.h"

#include <cstddef>
#include <cstring>

#include "storage/base/secrets.h"

namespace berth {
namespace {

constexpr size_t kShared = 8;  // a shorter secret is searched for as a whole

}  // namespace

void wipe(std::string& secret) {
  explicit_bzero(secret.data(), secret.size());
  secret.clear();
}

std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets,
                            size_t limit) {
  text = text.substr(0, 4 * limit);
  SecretSet known;
  for (const std::string& secret : secrets) known.add(secret);
  const std::vector<bool> is_secret = known.find_in(text, kShared);
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
