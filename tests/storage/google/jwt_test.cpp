#include "storage/google/jwt.h"

#include <gtest/gtest.h>

#include "storage/base/base64.h"
#include "tests/support/fake_accounts.h"
#include "tests/support/rsa_key.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// The vectors are those of RFC 4648, section 10.
TEST(Base64, EncodesAsTheRfcShows) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xfb\xff"), "+/8=");
}

TEST(Base64, HasAnAlphabetForUrls) {
  EXPECT_EQ(base64url("\xfb\xff"), "-_8");
  EXPECT_EQ(base64url("f"), "Zg");
  EXPECT_EQ(base64url("foo"), "Zm9v");
}

TEST(Jwt, IsVerifiedByThePublicKey) {
  const RsaKey key(test_private_key_pem(), "key.json");
  const DecodedJwt jwt = decode_jwt(make_jwt(key, R"({"alg":"RS256"})", R"({"iss":"a@b"})"));
  EXPECT_EQ(jwt.header, R"({"alg":"RS256"})");
  EXPECT_EQ(jwt.claims, R"({"iss":"a@b"})");
  EXPECT_TRUE(test_key_signed(jwt.signed_part, jwt.signature));
  EXPECT_FALSE(test_key_signed(jwt.signed_part + "x", jwt.signature));
}

TEST(Jwt, SignsTheSameWayEachTime) {
  const RsaKey key(test_private_key_pem(), "key.json");
  EXPECT_EQ(key.sign("message"), key.sign("message"));
  EXPECT_NE(key.sign("message"), key.sign("massage"));
}

TEST(RsaKey, OtherKeysAreRefusedWithTheFilesName) {
  const auto reading = [](const std::string& pem) { return [pem] { RsaKey(pem, "key.json"); }; };
  EXPECT_THAT(reading("no key"), ThrowsCode(Code::kUsage, "key.json: its private_key"));
  EXPECT_THAT(reading(""), ThrowsCode(Code::kUsage, "key.json"));
  EXPECT_THAT(reading(test_elliptic_key_pem()), ThrowsCode(Code::kUsage, "not an RSA key"));
}

TEST(RsaKey, WithAPassphraseIsRefusedWithoutAskingForIt) {
  EXPECT_THAT([] { RsaKey(test_encrypted_key_pem(), "key.json"); },
              ThrowsCode(Code::kUsage, "without a passphrase"));
}

TEST(RsaKey, CutAnywhereIsRefused) {
  const std::string& pem = test_private_key_pem();
  for (size_t size = 0; size + 10 < pem.size(); size += 7) {
    EXPECT_THAT([&] { RsaKey(pem.substr(0, size), "key.json"); }, ThrowsCode(Code::kUsage));
  }
}

}  // namespace
}  // namespace berth
