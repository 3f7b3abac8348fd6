#include "storage/base/secrets.h"

#include <gtest/gtest.h>

#include <string>

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
