#pragma once

#include <string>
#include <string_view>
#include <vector>

// Texts that hold secrets, or may. Thread-safe. Throws nothing.
namespace berth {

// Overwrites the characters, then empties the string.
void wipe(std::string& secret);

// Makes text from another party safe to show in a message. The result is printable ASCII of at most
// `limit` bytes. The other party may echo what we sent. So each passage that has eight bytes or
// more in common with one of `secrets` becomes "...", encoded or not (SecretSet). Secrets of fewer
// than four bytes are not looked for.
std::string without_secrets(std::string_view text, const std::vector<std::string>& secrets,
                            size_t limit);

}  // namespace berth
