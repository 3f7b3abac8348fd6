#include <gtest/gtest.h>

#include "entrypoint/report/html/page.h"
#include "storage/base/secrets.h"

namespace berth {
namespace {

TEST(HtmlText, EscapesMarkup) {
  EXPECT_EQ(html_text("<script>alert('1')</script> & \"x\""),
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;");
}

TEST(HtmlText, ShowsWhatActsOnTerminalsAndOnDirections) {
  EXPECT_EQ(html_text("a\x1b[31mb\nc\xE2\x80\xAE"
                      "d\xff"),
            "a\\x1b[31mb\\x0ac\\u202ed\\xff");
}

TEST(HtmlText, KeepsLettersOfEveryScript) {
  EXPECT_EQ(html_text("שלום 👩‍🚀 naïve"), "שלום 👩‍🚀 naïve");
  EXPECT_EQ(isolated("שלום"), "<bdi>שלום</bdi>");
}

TEST(HtmlText, ReplacesWhatXmlHasNoPlaceFor) {
  EXPECT_EQ(html_text("a\xEF\xBF\xBE"
                      "b\xEF\xBF\xBF"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(HtmlText, CutsBetweenCharacters) {
  EXPECT_EQ(html_text("aä", 2), "a…");
  EXPECT_EQ(html_text("aä", 3), "aä");
  EXPECT_LT(html_text(std::string(1 << 20, '<')).size(), 5 * kTextLimit);
}

TEST(HtmlText, RemovesKnownSecrets) {
  remember_secret("correct-horse-battery-staple");
  EXPECT_EQ(html_text("key=correct-horse-battery-staple"), "key=...");
  EXPECT_EQ(html_text("key=correct-horse-battery-staple", 10).find("corre"), std::string::npos);
}

TEST(JsonForBlock, EndsNoElementAndKeepsItsValue) {
  EXPECT_EQ(json_for_block(R"({"a":"</script><!--&"})"),
            R"({"a":"\u003c/script\u003e\u003c!--\u0026"})");
}

TEST(Numbers, AreForPeople) {
  EXPECT_EQ(rounded_text(0.0312499), "0.03125");
  EXPECT_EQ(rounded_text(12345.6), "12,346");
  EXPECT_EQ(rounded_text(-1234567), "-1,234,567");
  EXPECT_EQ(rounded_text(1e300), "1e+300");
  EXPECT_EQ(rounded_text(0.0 / 0.0), "–");
  EXPECT_EQ(whole_number(999), "999");
  EXPECT_EQ(span_of_time(12.34), "12.3 s");
  EXPECT_EQ(span_of_time(3599.6), "1 h 00 min");
  EXPECT_EQ(span_of_time(3725), "1 h 02 min");
  EXPECT_EQ(moment_text(1.75e9), "2025-06-15 15:06 UTC");
}

}  // namespace
}  // namespace berth
