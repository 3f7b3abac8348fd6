#include "trainer/metrics/answers.h"

#include <gtest/gtest.h>

#include "tests/trainer/metrics/recorded_cases.h"
#include "trainer/metrics/python_text.h"

namespace berth {
namespace {

using Golds = std::vector<std::string>;

TEST(AnswerMetrics, AgreeWithSquadsScripts) {
  for (const Json& recorded : recorded_cases("answers")) {
    AnswerMetrics all;
    double exact_sum = 0, f1_sum = 0;
    for (size_t i = 0; i < recorded["questions"].size(); ++i) {
      const auto prediction = recorded["questions"][i][0].get<std::string>();
      const auto golds = recorded["questions"][i][1].get<Golds>();
      EXPECT_EQ(normalized_answer(prediction), recorded["normalized"][i].get<std::string>());
      AnswerMetrics one;
      for (AnswerMetrics* metrics : {&all, &one}) metrics->add(prediction, golds);
      const auto exact = recorded["exact_match"][i].get<double>();
      const auto f1 = recorded["f1"][i].get<double>();
      EXPECT_EQ(one.metrics().at("exact_match"), exact) << prediction;
      EXPECT_NEAR(one.metrics().at("f1"), f1, 1e-12) << prediction;
      exact_sum += exact;
      f1_sum += f1;
    }
    const auto questions = static_cast<double>(recorded["questions"].size());
    EXPECT_EQ(static_cast<double>(all.questions()), questions);
    EXPECT_NEAR(all.metrics().at("exact_match"), exact_sum / questions, 1e-12);
    EXPECT_NEAR(all.metrics().at("f1"), f1_sum / questions, 1e-12);
  }
}

TEST(AnswerMetrics, NoQuestionsAreNoError) {
  EXPECT_EQ(AnswerMetrics().metrics().at("exact_match"), 0);
  EXPECT_EQ(AnswerMetrics().metrics().at("f1"), 0);
}

TEST(AnswerMetrics, InvalidUtf8IsNoError) {
  EXPECT_EQ(normalized_answer("a \xC3 b\xFF"), "\xEF\xBF\xBD b\xEF\xBF\xBD");
  EXPECT_EQ(normalized_answer("\xE4\xB8"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(normalized_answer("\xC0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(PythonText, CodePointsSurviveTheRoundTrip) {
  const std::string text = "a\x7F\u00e9\u07ff\u0800\uffff\U00010000\U0010ffff";
  EXPECT_EQ(utf8(code_points(text)), text);
  EXPECT_EQ(code_points(text).size(), 8u);
}

// The expected counts are those of Python 3.11 over all code points below 0x20000. They show that
// no character is missing from the tables.
TEST(PythonText, KnowsAsManyCharactersAsPython) {
  int64_t alphanumeric = 0, spaces = 0, cased = 0;
  uint64_t lower_sum = 0;
  for (char32_t c = 0; c < 0x20000; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    alphanumeric += is_alphanumeric(c);
    spaces += is_space(c);
    const std::u32string lower = lowered(std::u32string(1, c));
    cased += lower != std::u32string(1, c);
    for (const char32_t part : lower) lower_sum += part;
  }
  EXPECT_EQ(alphanumeric, 67736);
  EXPECT_EQ(spaces, 29);
  EXPECT_EQ(cased, 1433);
  EXPECT_EQ(lower_sum, 8477219355u);
}

}  // namespace
}  // namespace berth
