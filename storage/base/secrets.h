#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// The secrets that this process holds, such as access tokens and passwords, so that no text that
// leaves the process contains one. Servers may repeat in an error what they were sent. Whoever gets
// or makes a secret calls remember_secret(), for each form in which it is sent. The log and the
// final report pass through without_known_secrets().

// Thread-safe. Remembers `secret`. Of all secrets the last 32 are kept, so that a job of weeks,
// which gets a new token every hour, does not compare each line with all of them: call it again
// when a secret is used again. One of fewer than eight bytes is not remembered, because such text
// occurs by chance.
void remember_secret(std::string_view secret);

// Thread-safe. Each passage that has sixteen bytes or more in common with a remembered secret, or a
// whole shorter one, becomes "...".
std::string without_known_secrets(std::string_view text);

// Which bytes of `text` lie in passages of `shared` bytes or more that occur in one of `secrets`,
// or in a whole secret that is shorter.
std::vector<bool> secret_bytes(std::string_view text, std::span<const std::string> secrets,
                               size_t shared);

}  // namespace berth
