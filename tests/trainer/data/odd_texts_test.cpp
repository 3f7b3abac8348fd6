#include "trainer/data/odd_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::HasSubstr;

std::string says(const std::vector<std::string>& texts, bool are_texts = true) {
  OddTexts odd(are_texts);
  for (const std::string& text : texts) odd.add(text);
  std::string all;
  for (const Finding& found : odd.findings("text")) all += found.text + "\n";
  return all;
}

TEST(OddTexts, AreNamedByWhatAProgramHasLeftInThem) {
  EXPECT_THAT(
      says({"Tom &amp; Ida", "fine"}),
      HasSubstr("1 of the first 2 texts of column \"text\", such as \"Tom &amp; Ida\", have "
                "entities of HTML"));
  EXPECT_THAT(says({"it&#39;s"}), HasSubstr("entities of HTML"));
  EXPECT_THAT(says({"caf\xC3\x83\xC2\xA9"}), HasSubstr("read in another encoding"));
  EXPECT_THAT(says({"\xC3\xA2\xE2\x82\xAC\xC5\x93so"}), HasSubstr("read in another encoding"));
  EXPECT_THAT(says({"caf\xEF\xBF\xBD"}), HasSubstr("U+FFFD"));
  EXPECT_THAT(says({"caf\\u00e9"}), HasSubstr("have escapes"));
  EXPECT_THAT(says({"b'a'", "b\"b\"", "b'c'"}), HasSubstr("bytes of Python"));
  EXPECT_THAT(says({"'a'", "'b'", " \"c\""}), HasSubstr("enclosed in quotes that are read, too"));
  EXPECT_THAT(says({"=\"a\"", "=\"b\"", "=\"c\""}), HasSubstr("enclosed in quotes"));
  EXPECT_THAT(says({"1", "2.5", "3"}, /*are_texts=*/false), HasSubstr("--text-column names"));
  EXPECT_THAT(says({"None", "a"}), HasSubstr("missing values"));
}

TEST(OddTexts, AreFewOrNone) {
  EXPECT_EQ(says({"R&D", "a & b;", "&#x;", "S\xC3\xA3o", "\xC3\x82ge", "\\under", "\\u00"}), "");
  EXPECT_EQ(says({"'a'", "b", "'c'"}), "");
  EXPECT_EQ(says({"'a'", "'b'", "'c'", "None"}, /*are_texts=*/false), "");
  std::vector<std::string> many(30, "plain");
  many.push_back("&amp;");
  EXPECT_EQ(says(many), "");
  EXPECT_EQ(says({}), "");
}

}  // namespace
}  // namespace berth
