#include "storage/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"

namespace berth {
namespace {

TEST(Printable, TextStaysAsItIs) {
  for (const char* text :
       {"", "a/b c.csv: 7 rows", "\\x1b", "größer", "日本語", "👍🏽", "עברית"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
    EXPECT_EQ(printable_json(text), text);
  }
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("\x1b]0;title\x07"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable(std::string_view("a\0b\x7f", 4)), "a\\x00b\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\x9b31m");  // CSI of C1
  EXPECT_EQ(printable("one\r\ntwo\t"), "one\\x0d\\x0atwo\\x09");
  EXPECT_EQ(printable_lines("one\r\ntwo\t"), "one\\x0d\ntwo\t");
}

TEST(Printable, CharactersThatTurnTextAroundAreEscaped) {
  for (const char* c : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                        "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u2028", "\u2029"}) {
    const std::string shown = printable(c);
    EXPECT_EQ(shown.substr(0, 2), "\\u") << shown;
    EXPECT_EQ(shown.size(), 6u);
  }
  EXPECT_EQ(printable("\u202e"), "\\u202e");
}

TEST(Printable, InvisibleCharactersAreEscaped) {
  EXPECT_EQ(printable("\ufeffa\u200bb\u2060c\u2064\ufff9"),
            "\\ufeffa\\u200bb\\u2060c\\u2064\\ufff9");
  EXPECT_EQ(printable("a\U000e0041"), "a\\U000e0041");
  EXPECT_EQ(printable("می\u200cخواهم"), "می\u200cخواهم");  // a joiner that the word needs
  EXPECT_EQ(printable("👩\u200d🔬"), "👩\u200d🔬");
}

TEST(Printable, BytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xe2\x80"
                      "a"),
            "\\xe2\\x80a");
}

TEST(Printable, JsonStaysTheSameValue) {
  const std::string text = "\x1b\x7f\xc2\x9b\u202e\u2028\ufeff\U000e0041\"\\\n";
  const std::string json = printable_json(to_text(OrderedJson{{"text", text}}, 1));
  EXPECT_EQ(parse_json(json)["text"], text);
  for (const char* raw : {"\x7f", "\xc2\x9b", "\u202e", "\u2028", "\ufeff", "\U000e0041"}) {
    EXPECT_EQ(json.find(raw), std::string::npos) << json;
  }
}

TEST(Printable, QuotedTextIsPrintable) {
  EXPECT_EQ(quoted("a\x1b\u202e\xff"), "\"a\\x1b\\u202e\\xff\"");
}

TEST(Cat, JoinsAnythingPrintable) {
  EXPECT_EQ(cat("row ", 7, " of ", std::string("a"), '.'), "row 7 of a.");
}

TEST(LowerAscii, LeavesOtherBytesAlone) { EXPECT_EQ(lower_ascii("Ab-\xC3\x84"), "ab-\xC3\x84"); }

TEST(Quoted, KeepsAMessageOnOneLine) { EXPECT_EQ(quoted("a\nb\x7f\x01"), "\"a\\x0ab\\x7f\\x01\""); }

TEST(Quoted, CutsLongTextAtACodePoint) {
  EXPECT_EQ(quoted("abcdef", 4), "\"abcd...\"");
  EXPECT_EQ(quoted("abcd", 4), "\"abcd\"");
  EXPECT_EQ(quoted("abc\xC3\xA9xy", 4), "\"abc...\"");
  EXPECT_EQ(quoted("", 4), "\"\"");
}

TEST(Quoted, IsNotMistakenForStdQuoted) {
  const std::string text = "a\"b\n";  // std::quoted would escape the quote and keep the newline
  EXPECT_EQ(cat(quoted(text)), "\"a\"b\\x0a\"");
  std::string changeable = text;
  EXPECT_EQ(cat(quoted(changeable)), cat(quoted(text)));
}

TEST(Formatted, TakesTextsOfAnyLength) {
  EXPECT_EQ(formatted("%05d %.2f", 42, 0.125), "00042 0.12");
  const std::string text(1000, 'x');
  EXPECT_EQ(formatted("<%s>", text.c_str()), "<" + text + ">");
}

TEST(Parted, LeavesOutEmptyParts) {
  using testing::ElementsAre;
  EXPECT_THAT(parted(" a, b,,c", ", "), ElementsAre("a", "b", "c"));
  EXPECT_THAT(parted(",", ","), testing::IsEmpty());
  EXPECT_THAT(parted("a b", ","), ElementsAre("a b"));
}

TEST(FindWord, FindsWholeWords) {
  EXPECT_EQ(find_word("one two three", "two"), "two");
  EXPECT_EQ(find_word("twofold two", "two"), "two");
  for (const char* word : {"", "tw", "wo", "one two", "four"}) {
    EXPECT_EQ(find_word("one two three", word), "") << word;
  }
}

TEST(IsOneOf, KnowsWholeWords) {
  EXPECT_TRUE(is_one_of("one two three", "three"));
  for (const char* word : {"", "tw", "one two", "four"}) {
    EXPECT_FALSE(is_one_of("one two three", word)) << word;
  }
}

TEST(IsDigits, IsFalseWithoutAny) {
  EXPECT_TRUE(is_digits("007"));
  for (const char* text : {"", "1.", "-1", " 1", "x"}) EXPECT_FALSE(is_digits(text)) << text;
}

TEST(Joined, TakesTextsAndWholeNumbers) {
  const std::vector<std::string> names = {"a", "b", "c"};
  EXPECT_EQ(joined(names, ", "), "a, b, c");
  EXPECT_EQ(joined(names, " ", Quoted()), "\"a\" \"b\" \"c\"");
  EXPECT_EQ(joined(std::vector<int64_t>{2, -3}, ","), "2,-3");
  EXPECT_EQ(joined(std::vector<int64_t>{}, ","), "");
}

TEST(JoinedFirst, CountsTheOthers) {
  const std::vector<std::string> names = {"a", "b", "c"};
  EXPECT_EQ(joined_first(names, 3), "a, b, c");
  EXPECT_EQ(joined_first(names, 2), "a, b and 1 more");
  EXPECT_EQ(joined_first(std::vector<int>{}, 2), "");
}

TEST(Enumerated, HasAndBeforeTheLast) {
  EXPECT_EQ(enumerated({}), "");
  EXPECT_EQ(enumerated({"a"}), "a");
  EXPECT_EQ(enumerated({"a", "b"}), "a and b");
  EXPECT_EQ(enumerated({"a", "b", "c"}), "a, b and c");
}

TEST(Shortened, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("größer", 8), "größer");
  EXPECT_EQ(shortened("größer", 4), "grö…");
  EXPECT_EQ(shortened("größer", 3), "gr…");
  EXPECT_EQ(beginning("größer", 3), "gr");
}

TEST(Trimmed, KeepsWhatIsInside) {
  EXPECT_EQ(trimmed(" \ta b\r\n"), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(HumanBytes, ReadsAsPeopleWrite) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(uint64_t{5} << 30), "5.0 GiB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "16.0 EiB");
}

}  // namespace
}  // namespace berth
