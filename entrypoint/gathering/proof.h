#pragma once

#include <string>
#include <string_view>

#include "entrypoint/gathering/connection.h"

namespace berth {

// How workers prove to each other that they know the secret of their job. The secret never travels.
//
//     worker 0                                       another worker
//     challenge {nonce}                        -->
//                                              <--   hello {nonce, ..., proof}
//     welcome, later, refused, done {..., proof} -->
//
// A proof is the HMAC-SHA-256 of who speaks, both nonces and the message without its proof; the
// secret is the key. The worker proves first, so that a stranger who connects to worker 0 gets
// nothing that helps to guess the secret. A job without a secret has an empty key, and proves
// nothing.
struct Handshake {
  enum class Speaker { kLeader, kWorker };

  std::string secret{};
  std::string leader_nonce{}, worker_nonce{};  // each random_digits()

  Message proven(Speaker speaker, Message message) const;
  // False if one of the nonces is malformed.
  bool is_proven(Speaker speaker, const Message& message) const;
};

// 32 random bytes as hexadecimal digits: a nonce, or a secret.
std::string random_digits();

// A value for the comparison of texts that must not be sent: the HMAC-SHA-256 of `text` with the
// secret.
std::string fingerprint(const std::string& secret, std::string_view text);

}  // namespace berth
