#include "entrypoint/job/token_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(TokenSurvey, RecordsOfAnotherVocabularyAreNamed) {
  TokenSurvey survey{
      .lengths = {.lengths = {3, 3, 3}, .texts = 3}, .tokens = 9, .unknown_tokens = 0};
  EXPECT_EQ(unknown_texts(survey), "");
  survey.headless = 1;
  EXPECT_EQ(unknown_texts(survey), "");
  survey.headless = 3;
  EXPECT_THAT(unknown_texts(survey),
              testing::HasSubstr("3 of 3 texts (100 %) do not begin with a token such as [CLS]"));
}

}  // namespace
}  // namespace berth
