#include "tests/support/rsa_key.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <stdexcept>

namespace berth {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;

Key made(EVP_PKEY* key) {
  if (key == nullptr) throw std::runtime_error("no test key");
  return Key(key);
}

EVP_PKEY* test_key() {
  static const Key key = made(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", size_t{2048}));
  return key.get();
}

std::string pem_of(EVP_PKEY* key, const char* passphrase) {
  const std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  const EVP_CIPHER* const cipher = passphrase != nullptr ? EVP_aes_128_cbc() : nullptr;
  const int size =
      passphrase != nullptr ? static_cast<int>(std::char_traits<char>::length(passphrase)) : 0;
  if (PEM_write_bio_PKCS8PrivateKey(bio.get(), key, cipher, passphrase, size, nullptr, nullptr) !=
      1) {
    throw std::runtime_error("no test key in PEM");
  }
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<size_t>(length)};
}

}  // namespace

const std::string& test_private_key_pem() {
  static const std::string pem = pem_of(test_key(), nullptr);
  return pem;
}

std::string test_elliptic_key_pem() {
  return pem_of(made(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")).get(), nullptr);
}

std::string test_encrypted_key_pem() { return pem_of(test_key(), "passphrase"); }

bool test_key_signed(std::string_view message, std::string_view signature) {
  const auto bytes = [](std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  };
  const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
  return EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, test_key()) == 1 &&
         EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(message),
                          message.size()) == 1;
}

}  // namespace berth
