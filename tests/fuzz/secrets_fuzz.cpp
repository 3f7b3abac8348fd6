#include <span>

#include "storage/base/bytes.h"
#include "storage/base/secret_set.h"

// The first 24 bytes are the secret, and the others the text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kSecretBytes = 24, kShared = 16;
  if (size < kSecretBytes) return 0;
  const std::string_view input = berth::as_text(std::as_bytes(std::span(data, size)));
  const std::string_view secret = input.substr(0, kSecretBytes), text = input.substr(kSecretBytes);
  berth::SecretSet secrets;
  secrets.add(secret);
  const std::vector<bool> found = secrets.find_in(text, kShared);
  if (found.size() != text.size()) __builtin_trap();
  const size_t plain = text.find(secret);
  for (size_t i = 0; plain != text.npos && i < kSecretBytes; ++i) {
    if (!found[plain + i]) __builtin_trap();
  }
  return 0;
}
