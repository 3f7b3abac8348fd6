#pragma once

#include <string>
#include <string_view>

namespace berth {

// An RSA key of this run of the tests: made once, 2048 bits.
const std::string& test_private_key_pem();  // PKCS#8, as in Google's key files

// Others that no service account has: "EC", "EC P-256"; RSA behind a passphrase.
std::string test_elliptic_key_pem();
std::string test_encrypted_key_pem();

// Whether the test key made this RS256 signature.
bool test_key_signed(std::string_view message, std::string_view signature);

}  // namespace berth
