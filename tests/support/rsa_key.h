#pragma once

#include <string>
#include <string_view>

namespace berth {

// The RSA key of this test run. It has 2048 bits and is made once.
const std::string& test_private_key_pem();  // in PKCS#8, as in Google's key files

// Keys that no service account has: an elliptic-curve key (P-256), and an RSA key with a
// passphrase.
std::string test_elliptic_key_pem();
std::string test_encrypted_key_pem();

// Whether `signature` is the RS256 signature of `message` by the test key.
bool test_key_signed(std::string_view message, std::string_view signature);

}  // namespace berth
