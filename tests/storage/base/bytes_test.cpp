#include "storage/base/bytes.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

using std::string_literals::operator""s;

// `text` must outlive the cursor.
Cursor cursor_over(const std::string& text) { return Cursor(as_bytes(text)); }

TEST(Cursor, ReadsLittleEndianNumbers) {
  const std::string text = "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"s;
  Cursor cursor = cursor_over(text);
  EXPECT_EQ(cursor.u8(), 0x01u);
  EXPECT_EQ(cursor.u16(), 0x0302u);
  EXPECT_EQ(cursor.u32(), 0x07060504u);
  EXPECT_EQ(cursor.u64(), 0x0f0e0d0c0b0a0908u);
  EXPECT_TRUE(cursor.at_end());
}

TEST(Cursor, NamesTheOffsetWhereTheBytesEnd) {
  const std::string text = "abcdef";
  Cursor cursor = cursor_over(text);
  cursor.skip(3);
  EXPECT_THAT([&] { cursor.u32(); }, ThrowsCode(Code::kCorrupt, "byte 3"));
  EXPECT_EQ(cursor.offset(), 3u);  // a failed read consumes nothing
  EXPECT_EQ(as_text(cursor.take(3)), "def");
}

TEST(Cursor, RefusesASizeThatWouldOverflow) {
  const std::string text = "abc";
  Cursor cursor = cursor_over(text);
  cursor.skip(1);
  EXPECT_THAT([&] { cursor.take(UINT64_MAX); }, ThrowsCode(Code::kCorrupt, "byte 1"));
}

TEST(Cursor, ReadsVarintsOfUpToTenBytes) {
  const std::string text = "\x00\x7f\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s;
  Cursor cursor = cursor_over(text);
  EXPECT_EQ(cursor.varint(), 0u);
  EXPECT_EQ(cursor.varint(), 127u);
  EXPECT_EQ(cursor.varint(), 128u);
  EXPECT_EQ(cursor.varint(), UINT64_MAX);
  EXPECT_TRUE(cursor.at_end());
}

TEST(Cursor, RefusesAVarintBeyond64Bits) {
  for (const std::string& text :
       {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s, std::string(11, '\x80'), "\x80"s}) {
    EXPECT_THAT([&] { cursor_over(text).varint(); }, ThrowsCode(Code::kCorrupt, "byte"));
  }
}

TEST(MemorySource, GivesItsBytesInOrderThenEnds) {
  const std::string text = "abcde";
  MemorySource source(as_bytes(text));
  std::array<std::byte, 3> buffer;
  EXPECT_EQ(source.read(buffer), 3u);
  EXPECT_EQ(as_text(buffer), "abc");
  EXPECT_EQ(source.read(buffer), 2u);
  EXPECT_EQ(source.read(buffer), 0u);
  EXPECT_EQ(source.read(buffer), 0u);
}

TEST(ReadAll, ReturnsEverythingUpToTheLimit) {
  const std::string text(200'000, 'x');
  MemorySource source(as_bytes(text));
  EXPECT_EQ(as_text(read_all(source, text.size(), "text")), text);
}

TEST(ReadAll, NamesWhatIsTooLarge) {
  const std::string text(200'000, 'x');
  MemorySource source(as_bytes(text));
  EXPECT_THAT([&] { read_all(source, text.size() - 1, "vocabulary"); },
              ThrowsCode(Code::kMemory, "vocabulary"));
}

// Gives one byte at a time.
class SlowSource final : public ByteSource {
 public:
  explicit SlowSource(std::string_view text) : text_(as_bytes(text)) {}
  size_t read(std::span<std::byte> buffer) override { return text_.read(buffer.first(1)); }

 private:
  MemorySource text_;
};

TEST(PeekedSource, ShowsItsBeginningAndGivesAllBytes) {
  PeekedSource source(std::make_unique<SlowSource>("abcde"), 3);
  EXPECT_EQ(source.beginning(), "abc");
  EXPECT_EQ(as_text(read_all(source, 5, "five bytes")), "abcde");
  EXPECT_EQ(PeekedSource(std::make_unique<SlowSource>("a"), 3).beginning(), "a");
}

TEST(ReadFully, FillsTheBufferUnlessTheSourceEnds) {
  SlowSource source("abcde");
  std::array<std::byte, 3> buffer{};
  EXPECT_EQ(read_fully(source, buffer), 3u);
  EXPECT_EQ(as_text(buffer), "abc");
  EXPECT_EQ(read_fully(source, buffer), 2u);
  EXPECT_EQ(as_text(Bytes(buffer).first(2)), "de");
  EXPECT_EQ(read_fully(source, buffer), 0u);
}

}  // namespace
}  // namespace berth
