#include "storage/formats/utf8_source.h"

#include <gmock/gmock.h>

#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"
#include "tests/support/trickling_source.h"

namespace berth {
namespace {

using std::string_literals::operator""s;

std::string converted(const std::string& text) {
  const auto whole = read_all(*as_utf8(source_of(text)), 1 << 20, "the text");
  const auto source = as_utf8(std::make_unique<TricklingSource>(as_bytes(text)));
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

}  // namespace
}  // namespace berth
