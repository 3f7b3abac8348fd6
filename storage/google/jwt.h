#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_pkey_st;  // OpenSSL's type

namespace berth {

// A private RSA key. Thread-safe.
class RsaKey {
 public:
  // Reads a PEM text (PKCS#8, as in Google's files) and then overwrites it. Throws kUsage, located
  // at `where`, unless it is an RSA key without a passphrase.
  RsaKey(std::string pem, const std::string& where);

  // Signs with RSASSA-PKCS1-v1_5 and SHA-256, which JSON web tokens call RS256.
  std::string sign(std::string_view message) const;

 private:
  struct Free {
    void operator()(evp_pkey_st* key) const;
  };
  std::unique_ptr<evp_pkey_st, Free> key_;
};

// Returns a signed JSON web token (RFC 7519):
// base64url(header).base64url(claims).base64url(signature).
std::string make_jwt(const RsaKey& key, std::string_view header_json, std::string_view claims_json);

}  // namespace berth
