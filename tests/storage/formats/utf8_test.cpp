#include "storage/formats/utf8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_log.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"
#include "tests/support/trickling_source.h"

namespace berth {
namespace {

using std::string_literals::operator""s;

std::string converted(const std::string& text, TextEncoding encoding = TextEncoding::kUtf8) {
  const auto whole = read_all(*as_utf8(source_of(text), encoding), 1 << 20, "the text");
  const auto source = as_utf8(std::make_unique<TricklingSource>(as_bytes(text)), encoding);
  EXPECT_EQ(read_all(*source, 1 << 20, "the text"), whole);
  return std::string(as_text(whole));
}

TEST(Utf8Source, PassesOnWhatIsNotUtf16) {
  for (const std::string text : {"", "a", "ab", "caf\xC3\xA9, \xFF\xFE", "\xEF\xBB\xBFx"}) {
    EXPECT_EQ(converted(text), text);
  }
}

TEST(Utf8Source, ConvertsBothByteOrders) {
  EXPECT_EQ(converted("\xFF\xFE"s + "a\0\xE9\0\x3D\xD8\x00\xDE"s), "a\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(converted("\xFE\xFF"s + "\0a\0\xE9\xD8\x3D\xDE\x00"s), "a\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(converted("\xFF\xFE"), "");
}

TEST(Utf8Source, NamesTheByteOfHalfACharacter) {
  const auto convert = [](const std::string& text) { return [text] { converted(text); }; };
  EXPECT_THAT(convert("\xFF\xFE"s + "a\0b"s),
              ThrowsCode(Code::kBadData, "byte 4: as UTF-16 it ends"));
  EXPECT_THAT(convert("\xFF\xFE"s + "\x3D\xD8"s), ThrowsCode(Code::kBadData, "ends within"));
  EXPECT_THAT(convert("\xFF\xFE"s + "\x3D\xD8"s + "a\0"s), ThrowsCode(Code::kBadData, "surrogate"));
  EXPECT_THAT(convert("\xFF\xFE"s + "\x00\xDE"s), ThrowsCode(Code::kBadData, "byte 2"));
}

TEST(Utf8Source, ConvertsEightBitText) {
  EXPECT_EQ(converted("a\xE9\x80\xFF\xFE", TextEncoding::kLatin1),
            "a\xC3\xA9\xC2\x80\xC3\xBF\xC3\xBE");
  EXPECT_EQ(converted("\xE9\x80\x93x\x94", TextEncoding::kWindows1252),
            "\xC3\xA9\xE2\x82\xAC\xE2\x80\x9Cx\xE2\x80\x9D");
  EXPECT_THAT([] { converted("ab\x81", TextEncoding::kWindows1252); },
              ThrowsCode(Code::kBadData, "byte 2: is not a character of windows-1252"));
}

TEST(Utf8Source, Utf16NeedsNoMarkIfItIsNamed) {
  EXPECT_EQ(converted("a\0\xE9\0"s, TextEncoding::kUtf16), "a\xC3\xA9");
  EXPECT_EQ(converted("\xFE\xFF"s + "\0a"s, TextEncoding::kUtf16), "a");
}

TEST(Utf8Source, AutoTakesWindows1252WhereTheTextIsNotUtf8) {
  EXPECT_EQ(converted("caf\xE9 \x80", TextEncoding::kAuto), "caf\xC3\xA9 \xE2\x82\xAC");
  EXPECT_EQ(converted("caf\xC3\xA9 \xE2\x82\xAC", TextEncoding::kAuto), "caf\xC3\xA9 \xE2\x82\xAC");
  EXPECT_EQ(converted("\xFF\xFE"s + "a\0"s, TextEncoding::kAuto), "a");
}

// The buffer holds 64 KiB, whose end may cut the first character beyond ASCII, or a later one.
TEST(Utf8Source, AutoIsNotMisledByACharacterAtTheEndOfItsBuffer) {
  for (const bool begins_early : {false, true}) {
    for (size_t before = 65'530; before < 65'540; ++before) {
      std::string text(before, 'a');
      if (begins_early) text.replace(100, 2, "\xC3\xA9");
      text += "\xF0\x9F\x98\x80 and more";
      EXPECT_EQ(converted(text, TextEncoding::kAuto), text) << before;
    }
    const std::string text = std::string(70'000, 'a') + "\xE9";
    EXPECT_EQ(converted(text, TextEncoding::kAuto), std::string(70'000, 'a') + "\xC3\xA9");
  }
}

TEST(Utf8Source, WiderCharactersWithoutAMarkAreRefused) {
  std::string little, big, wide;
  for (const char c : "text,label") {
    little += {c, '\0'};
    big += {'\0', c};
    wide += {c, '\0', '\0', '\0'};
  }
  for (const auto encoding : {TextEncoding::kUtf8, TextEncoding::kAuto, TextEncoding::kLatin1}) {
    EXPECT_THAT([&] { converted(little, encoding); },
                ThrowsCode(Code::kBadData, "--encoding utf-16 reads it"));
    EXPECT_THAT([&] { converted(big, encoding); }, ThrowsCode(Code::kBadData, "UTF-16BE"));
    EXPECT_THAT([&] { converted(wide, encoding); }, ThrowsCode(Code::kBadData, "UTF-32"));
  }
  EXPECT_THAT([&] { converted("\xFF\xFE\0\0"s + wide); }, ThrowsCode(Code::kBadData, "UTF-32"));
  EXPECT_EQ(converted(little, TextEncoding::kUtf16), "text,label\0"s);
  EXPECT_EQ(converted("a\0b, c\0d and more"s), "a\0b, c\0d and more"s);
}

// Shift-JIS, GBK and windows-1251 have no windows-1252 in them.
TEST(Utf8Source, AutoRefusesWhatIsNotOfWesternEurope) {
  for (const char* text : {"\x93\x8C\x8B\x9E\x82\xC5\x8A\x77\x82\xD4\x81\x42",
                           "\xB6\xAB\xBE\xA9\xB4\xF3\xD1\xA7\xB6\xAB\xBE\xA9",
                           "\xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0"}) {
    EXPECT_THAT([&] { converted(text, TextEncoding::kAuto); },
                ThrowsCode(Code::kBadData, "iconv -f NAME -t UTF-8"));
  }
  EXPECT_EQ(
      converted("\xE9t\xE9, \x93na\xEFve\x94, \xE0 c\xF4t\xE9\x85\x85 no\xEBl", TextEncoding::kAuto)
          .substr(0, 2),
      "\xC3\xA9");
}

TEST(Utf8Source, AFlagThatSpoilsUtf8BringsAWarning) {
  const CapturedLog log;
  EXPECT_EQ(converted("caf\xC3\xA9", TextEncoding::kLatin1), "caf\xC3\x83\xC2\xA9");
  EXPECT_THAT(log.warnings(), testing::HasSubstr("text seems to be UTF-8"));
}

}  // namespace
}  // namespace berth
