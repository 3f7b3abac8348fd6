#include "storage/base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iomanip>

namespace berth {
namespace {

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

TEST(Parted, LeavesOutEmptyParts) {
  using testing::ElementsAre;
  EXPECT_THAT(parted(" a, b,,c", ", "), ElementsAre("a", "b", "c"));
  EXPECT_THAT(parted(",", ","), testing::IsEmpty());
  EXPECT_THAT(parted("a b", ","), ElementsAre("a b"));
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
