#include "storage/google/token_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string refused_with(const std::string& description) {
  const TokenRequest request{.url = "https://sts.example/token",
                             .where = "key.json",
                             .secrets = {"eyJ/subject+token=0123456789/abcdef"}};
  const HttpAnswer answer{.status = 400,
                          .headers = {},
                          .body = R"({"error":"x","error_description":")" + description + "\"}"};
  return refusal(answer, request).problem();
}

TEST(Refusal, TellsTheReasonOfTheServer) {
  EXPECT_THAT(refused_with("no such client"), HasSubstr("(no such client)"));
}

TEST(Refusal, LeavesOutSecretsAsTheyAreAndAsAFormSendsThem) {
  EXPECT_THAT(refused_with("bad eyJ/subject+token=0123456789/abcdef"), HasSubstr("(bad ...)"));
  const std::string text =
      refused_with("bad subject_token=eyJ%2Fsubject%2Btoken%3D0123456789%2Fabcdef&x");
  EXPECT_THAT(text, HasSubstr("(bad subject_token=...&x)"));
  EXPECT_THAT(text, Not(HasSubstr("0123456789")));
}

}  // namespace
}  // namespace berth
