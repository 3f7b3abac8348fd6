#include "storage/base/secrets.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "storage/base/base64.h"
#include "storage/base/log.h"
#include "tests/support/captured_log.h"

namespace berth {
namespace {

TEST(KnownSecrets, AreTakenOutOfText) {
  remember_secret("ya29.first-token-0123456789");
  remember_secret("pass-word");
  EXPECT_EQ(without_known_secrets("Bearer ya29.first-token-0123456789!"), "Bearer ...!");
  EXPECT_EQ(without_known_secrets("a part, first-token-01234567, of it"), "a part, ..., of it");
  EXPECT_EQ(without_known_secrets("a short one: pass-word"), "a short one: ...");
  EXPECT_EQ(without_known_secrets("first-token"), "first-token");
  EXPECT_EQ(without_known_secrets(""), "");
}

// Writes each byte by a format of printf.
std::string each_byte(const std::string& text, const char* format) {
  std::string encoded;
  for (const char c : text) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, format, static_cast<unsigned char>(c));
    encoded += buffer;
  }
  return encoded;
}

TEST(KnownSecrets, AreTakenOutOfTextThatIsEncoded) {
  const std::string secret = "ya29.A/b+C=~encoded-token-0123456789";
  remember_secret(secret);
  const std::vector<std::string> encoded = {each_byte(secret, "%%%02X"),
                                            each_byte(secret, "%%%02x"),
                                            each_byte(secret, "&#%d;"),
                                            each_byte(secret, "&#x%x;"),
                                            each_byte(secret, "%02x"),
                                            each_byte(secret, "%02X"),
                                            each_byte(secret, "%02x "),
                                            each_byte(secret, "%02x:"),
                                            each_byte(secret, "\\u%04x"),
                                            each_byte(secret, "\\x%02x"),
                                            each_byte(secret, "\\%03o"),
                                            "a" + each_byte(secret, "%02x"),
                                            "ya29.A\\/b+C=~encoded-token-0123456789",
                                            each_byte(secret, "%%25%02x"),  // percent-encoded twice
                                            base64(each_byte(secret, "%%%02x")),
                                            each_byte(base64(secret), "%02x")};
  for (const std::string& text : encoded) {
    const std::string shown = without_known_secrets("it was <" + text + ">.");
    EXPECT_TRUE(shown.starts_with("it was <") && shown.ends_with(">.")) << shown;
    EXPECT_LT(shown.size(), 20U) << text;
  }
  for (const std::string before : {"", "a", "ab", "abc"}) {
    for (const std::string& digits : {base64(before + secret), base64url(before + secret)}) {
      for (const std::string joined : {"", "x", "xy", "xyz"}) {
        const std::string shown = without_known_secrets(joined + digits);
        EXPECT_LT(shown.size(), joined.size() + before.size() + 12) << shown;
      }
    }
  }
}

TEST(KnownSecrets, ThatAnAddressHasEncodedAreTakenOutInPlain) {
  remember_secret("X-Signature=%2Fabc%2Bdef%2Fghi%3D");
  EXPECT_EQ(without_known_secrets("X-Signature=/abc+def/ghi="), "...");
}

TEST(KnownSecrets, LeaveOtherTextsAsTheyAre) {
  remember_secret("ya29.another-token-0123456789");
  for (const std::string text :
       {"100% of 5 &amp; 6", "\\", "%", "&", "&#;", "&#x;", "&;", "%4", "\\u12", "\\x1", "\\0",
        "deadbeefdeadbeefdeadbeef", "c29tZXRoaW5nIGVsc2UgdGhhdCBpcyBubyBzZWNyZXQ=", "\xff\x80"}) {
    EXPECT_EQ(without_known_secrets(text), text);
  }
}

TEST(KnownSecrets, AreNotTextThatOccursByChance) {
  remember_secret("batch");
  remember_secret("");
  EXPECT_EQ(without_known_secrets("the batch"), "the batch");
}

TEST(KnownSecrets, AreTheNewest) {
  remember_secret("kept-by-its-use");
  for (int i = 0; i < 100; ++i) {
    remember_secret("hourly-token-" + std::to_string(i));
    remember_secret("kept-by-its-use");
  }
  EXPECT_EQ(without_known_secrets("kept-by-its-use"), "...");
  EXPECT_EQ(without_known_secrets("hourly-token-99"), "...");
  EXPECT_EQ(without_known_secrets("hourly-token-0"), "hourly-token-0");
}

TEST(KnownSecrets, DoNotReachTheLog) {
  remember_secret("ya29.logged-token-0123456789");
  const CapturedLog captured;
  log_warning("refused: ya29.logged-token-0123456789");
  EXPECT_NE(captured.lines().find("refused: ..."), std::string::npos);
  EXPECT_EQ(captured.lines().find("logged-token"), std::string::npos);
}

}  // namespace
}  // namespace berth
