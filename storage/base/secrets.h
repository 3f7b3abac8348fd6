#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace berth {

// Secrets that are looked for in texts. Not thread-safe.
class SecretSet {
 public:
  // A text of fewer bytes is no secret that can be looked for.
  static constexpr size_t kShortest = 4;

  // Adds `secret`, as it is and without its percent-encoding, or makes it the newest one if the set
  // has it. The set holds the newest 64 secrets. Ignores one of fewer than kShortest bytes.
  void add(std::string_view secret);

  bool empty() const { return secrets_.empty(); }

  // Returns true for each byte of `text` that is part of a secret: of `shared` or more bytes of
  // one, or of a whole shorter one. The text may have the secret in any of the encodings of
  // for_each_reading().
  std::vector<bool> find_in(std::string_view text, size_t shared) const;

 private:
  void add_form(std::string_view secret);
  void add_beginnings(std::string_view secret);

  std::vector<std::string> secrets_;  // the last one is the newest
  // Each sequence of kShortest bytes in the secrets, and some that only forgotten ones had.
  std::unordered_set<uint32_t> beginnings_;
};

// The secrets that this process holds, such as access tokens and passwords, so that no text that
// leaves the process contains one. Servers may repeat in an error what they were sent, also in
// another encoding. Whoever gets or makes a secret calls remember_secret(). The log and the final
// report pass through without_known_secrets().

// Thread-safe. Remembers `secret`. Only the newest secrets are remembered: a job of weeks gets a
// new token every hour, and each line is compared with all secrets (SecretSet). So call it again
// when a secret is used again. A secret of fewer than eight bytes is not remembered, because such
// text occurs by chance.
void remember_secret(std::string_view secret);

// Thread-safe. Replaces secrets in `text` by "...": each passage that has sixteen bytes or more in
// common with a remembered secret, and each whole shorter secret. This includes all encodings of
// for_each_reading().
std::string without_known_secrets(std::string_view text);

}  // namespace berth
