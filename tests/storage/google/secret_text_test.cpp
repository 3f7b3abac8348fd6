#include "storage/google/secret_text.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(WithoutSecrets, KeepsWhatIsNotSecret) {
  EXPECT_EQ(without_secrets("Invalid JWT Signature.", {"eyJhbGciOi"}, 200),
            "Invalid JWT Signature.");
  EXPECT_EQ(without_secrets("", {"secret"}, 200), "");
  EXPECT_EQ(without_secrets("text", {}, 200), "text");
}

TEST(WithoutSecrets, RemovesWholeAndPartialEchoes) {
  const std::vector<std::string> secrets = {"1//0abcdefghijklmnop", "GOCSPX-qrstuvw"};
  EXPECT_EQ(without_secrets("bad 1//0abcdefghijklmnop!", secrets, 200), "bad ...!");
  EXPECT_EQ(without_secrets("bad defghijklmn here", secrets, 200), "bad ... here");
  EXPECT_EQ(without_secrets("GOCSPX-qrstuvw and 1//0abcdefgh", secrets, 200), "... and ...");
}

TEST(WithoutSecrets, TakesOutAShortSecretAsAWhole) {
  EXPECT_EQ(without_secrets("it was pass1 there", {"pass1"}, 200), "it was ... there");
}

TEST(WithoutSecrets, RemovesEncodedEchoes) {
  EXPECT_EQ(without_secrets("bad 1%2F%2F0abcdefghijklmnop!", {"1//0abcdefghijklmnop"}, 200),
            "bad ...!");
}

TEST(WithoutSecrets, IsPrintableAndShort) {
  EXPECT_EQ(without_secrets("a\n\x1b[31mb\xc3\xa9", {}, 200), "a??[31mb??");
  EXPECT_EQ(without_secrets(std::string(5000, 'x'), {}, 200), std::string(200, 'x'));
}

TEST(Wipe, LeavesNothing) {
  std::string secret = "secret that is no short string";
  const char* const begin = secret.data();
  wipe(secret);
  EXPECT_TRUE(secret.empty());
  EXPECT_EQ(begin[5], '\0');
}

}  // namespace
}  // namespace berth
