#include "entrypoint/gathering/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>
#include <new>
#include <span>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kRandomBytes = 32;

bool is_nonce(const std::string& text) { return text.size() == 2 * kRandomBytes; }

std::string text_to_prove(const Handshake& handshake, Handshake::Speaker speaker, Message message) {
  message.proof.clear();
  return cat(speaker == Handshake::Speaker::kLeader ? "leader " : "worker ", handshake.leader_nonce,
             handshake.worker_nonce, encode(message));
}

}  // namespace

Message Handshake::proven(Speaker speaker, Message message) const {
  message.proof = fingerprint(secret, text_to_prove(*this, speaker, message));
  return message;
}

bool Handshake::is_proven(Speaker speaker, const Message& message) const {
  if (!is_nonce(leader_nonce) || !is_nonce(worker_nonce)) return false;
  const std::string proof = fingerprint(secret, text_to_prove(*this, speaker, message));
  return message.proof.size() == proof.size() &&
         ::CRYPTO_memcmp(message.proof.data(), proof.data(), proof.size()) == 0;
}

std::string random_digits() {
  std::array<unsigned char, kRandomBytes> bytes{};
  if (::RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) {
    throw Error(Code::kUnavailable, "the system has no random numbers for a secret");
  }
  return hex(std::as_bytes(std::span(bytes)));
}

std::string fingerprint(const std::string& secret, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (::HMAC(::EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
             &size) == nullptr) {
    throw std::bad_alloc();
  }
  return hex(std::as_bytes(std::span(digest).first(size)));
}

}  // namespace berth
