#include "storage/base/protobuf_wire.h"

#include <gtest/gtest.h>

#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using std::string_literals::operator""s;

void read(Bytes message) {
  ProtoReader reader(message);
  for (ProtoField field; reader.next(field);) {
  }
}

void read(const std::string& message) { read(as_bytes(message)); }

// protobuf.dev/programming-guides/encoding: {int32 a = 1} with a = 150, {string b = 2} "testing".
TEST(ProtoWriter, MatchesTheExamplesOfTheManual) {
  ProtoWriter writer;
  writer.varint(1, 150);
  writer.text(2, "testing");
  EXPECT_EQ(as_text(writer.written()), "\x08\x96\x01\x12\x07testing");
}

TEST(ProtoWriter, WritesNegativeNumbersInTenBytes) {
  ProtoWriter writer;
  writer.int64(1, -1);
  EXPECT_EQ(as_text(writer.written()), "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

TEST(ProtoWriter, BeginsAFieldWhoseBytesFollow) {
  ProtoWriter begun, whole;
  begun.begin_bytes(3, 300);
  whole.bytes(3, as_bytes(std::string(300, 'x')));
  EXPECT_EQ(std::string(as_text(begun.written())) + std::string(300, 'x'),
            as_text(whole.written()));
}

TEST(ProtoReader, ReadsBackEveryWireType) {
  ProtoWriter inner;
  inner.text(1, "inside");
  ProtoWriter writer;
  writer.int64(1, -7);
  writer.fixed32(2, 0xDEADBEEF);
  writer.fixed64(3, UINT64_MAX);
  writer.float32(4, 0.5f);
  writer.float64(5, -0.25);
  writer.message((1u << 29) - 1, inner);

  ProtoReader reader(writer.written());
  ProtoField field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 1u);
  EXPECT_EQ(field.as_int64(), -7);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.as_fixed32(), 0xDEADBEEFu);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.as_fixed64(), UINT64_MAX);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.as_float32(), 0.5f);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.as_float64(), -0.25);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, (1u << 29) - 1);
  ProtoReader nested(field.as_bytes());
  ASSERT_TRUE(nested.next(field));
  EXPECT_EQ(field.as_text(), "inside");
  EXPECT_FALSE(nested.next(field));
  EXPECT_FALSE(reader.next(field));
}

TEST(ProtoReader, AnEmptyMessageHasNoFields) { EXPECT_NO_THROW(read("")); }

TEST(ProtoReader, NamesTheFieldOfAnotherType) {
  const std::string message = "\x08\x01\x12\x00"s;
  ProtoReader reader(as_bytes(message));
  ProtoField field;
  reader.next(field);
  reader.next(field);
  EXPECT_THAT([&] { field.as_varint(); }, ThrowsCode(Code::kCorrupt, "byte 2: field 2"));
}

TEST(ProtoReader, RefusesGroupsAndFieldNumbersThatCannotBe) {
  for (const std::string& message :
       {"\x0b"s, "\x0c"s, "\x0e"s, "\x0f"s, "\x00\x01"s, "\x80\x80\x80\x80\x10\x01"s}) {
    EXPECT_THAT([&] { read(message); }, ThrowsCode(Code::kCorrupt, "byte"));
  }
}

TEST(ProtoReader, RefusesALengthBeyondTheMessage) {
  EXPECT_THAT([] { read("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s); },
              ThrowsCode(Code::kCorrupt, "ends early"));
}

TEST(ProtoReader, SurvivesEveryPrefixAndFlippedBit) {
  ProtoWriter writer;
  writer.varint(1, UINT64_MAX);
  writer.text(2, "abc");
  writer.fixed32(3, 7);
  writer.fixed64(4, 7);
  const auto read_it = [](Bytes bytes) { read(bytes); };
  // A prefix is accepted only if it ends between two fields.
  EXPECT_THAT(accepted_prefixes(writer.written(), read_it), testing::ElementsAre(0, 11, 16, 21));
  accepted_flips(writer.written(), read_it);
}

TEST(PackedVarints, ReadsThemAll) {
  EXPECT_THAT(packed_varints(as_bytes("\x01\x96\x01")), testing::ElementsAre(1, 150));
  EXPECT_TRUE(packed_varints({}).empty());
  EXPECT_THAT([] { packed_varints(as_bytes("\x01\x96")); }, ThrowsCode(Code::kCorrupt));
}

}  // namespace
}  // namespace berth
