#include "storage/google/jwt.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "storage/base/base64.h"
#include "storage/base/error.h"
#include "storage/google/secret_text.h"

namespace berth {
namespace {

// Keeps OpenSSL from asking for a passphrase at the terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

EVP_PKEY* read_pem(const std::string& pem) {
  BIO* const bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  if (bio == nullptr) return nullptr;
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(bio, nullptr, no_passphrase, nullptr);
  BIO_free(bio);
  ERR_clear_error();  // OpenSSL's error texts may contain parts of the key
  return key;
}

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

void RsaKey::Free::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

RsaKey::RsaKey(std::string pem, const std::string& where) : key_(read_pem(pem)) {
  wipe(pem);
  if (key_ == nullptr || EVP_PKEY_base_id(key_.get()) != EVP_PKEY_RSA) {
    throw Error(Code::kUsage, "its private_key is not an RSA key in PEM, without a passphrase",
                where, "download the key file again");
  }
}

std::string RsaKey::sign(std::string_view message) const {
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(message.data());
  std::string signature;
  size_t size = 0;
  const bool is_ready =
      context != nullptr &&
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
      EVP_DigestSign(context.get(), nullptr, &size, bytes, message.size()) == 1;
  if (is_ready) signature.resize(size);
  if (!is_ready || EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()),
                                  &size, bytes, message.size()) != 1) {
    ERR_clear_error();
    throw Error(Code::kNotPermitted, "its private_key cannot sign", "",
                "download the key file again");
  }
  signature.resize(size);
  return signature;
}

std::string make_jwt(const RsaKey& key, std::string_view header_json,
                     std::string_view claims_json) {
  const std::string signed_part = base64url(header_json) + "." + base64url(claims_json);
  return signed_part + "." + base64url(key.sign(signed_part));
}

}  // namespace berth
