#pragma once

#include <string>
#include <string_view>

namespace berth {

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
