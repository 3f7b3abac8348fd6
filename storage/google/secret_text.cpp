#include "storage/google/secret_text.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

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
  std::vector<bool> is_secret(text.size());
  for (const std::string_view secret : secrets) {
    const size_t window = std::min(secret.size(), kLongestShared + 1);
    for (size_t begin = 0; window > 0 && begin + window <= text.size(); ++begin) {
      if (secret.find(text.substr(begin, window)) == std::string_view::npos) continue;
      std::fill_n(is_secret.begin() + static_cast<ptrdiff_t>(begin), window, true);
    }
  }
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
