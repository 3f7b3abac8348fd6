#include <gmock/gmock.h>

#include "storage/formats/parquet/values.h"
#include "tests/support/throws_code.h"

namespace berth::parquet {
namespace {

template <size_t size>
Bytes bytes_of(const uint8_t (&bytes)[size]) {
  return std::as_bytes(std::span(bytes));
}

std::vector<uint32_t> numbers(HybridDecoder decoder, int count) {
  std::vector<uint32_t> result;
  for (int i = 0; i < count; ++i) result.push_back(decoder.next());
  return result;
}

TEST(HybridDecoder, ReadsTheExampleOfTheFormat) {
  const uint8_t packed[] = {0b11, 0b10001000, 0b11000110, 0b11111010};  // Encodings.md: 0 to 7
  EXPECT_EQ(numbers({bytes_of(packed), 3}, 8), (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(HybridDecoder, RunsAndPackedNumbersFollowEachOther) {
  const uint8_t mixed[] = {2 << 1, 0x34, 0x12, 1 << 1, 7, 0};
  EXPECT_EQ(numbers({bytes_of(mixed), 16}, 3), (std::vector<uint32_t>{0x1234, 0x1234, 7}));
}

TEST(HybridDecoder, ALastGroupMayBeCutShort) {
  const uint8_t packed[] = {0b11, 0b10001000};  // two whole numbers of 3 bits
  EXPECT_EQ(numbers({bytes_of(packed), 3}, 2), (std::vector<uint32_t>{0, 1}));
  EXPECT_THAT([&] { numbers({bytes_of(packed), 3}, 3); }, ThrowsCode(Code::kCorrupt, ""));
}

TEST(HybridDecoder, RefusesWidthsAbove32) {
  EXPECT_THAT([] { HybridDecoder({}, 33); }, ThrowsCode(Code::kCorrupt, "33 bits"));
}

TEST(DictionaryValues, AreRefusedBehindTheDictionary) {
  const std::vector<Value> dictionary(2, Value{.bytes = "a"});
  const uint8_t indices[] = {8, 1 << 1, 1, 1 << 1, 2};  // 8 bits each: once 1, once 2
  const auto reader = make_value_reader(Encoding::kRleDictionary, PhysicalType::kByteArray, 0,
                                        bytes_of(indices), dictionary);
  Value value;
  reader->next(value);
  EXPECT_EQ(value.bytes, "a");
  EXPECT_THAT([&] { reader->next(value); },
              ThrowsCode(Code::kCorrupt, "value 2 of a dictionary that has 2"));
}

TEST(DeltaDecoder, ReadsTheExamplesOfTheFormat) {
  // Encodings.md: 7, 5, 3, 1, 2, 3, 4, 5. Blocks of 128 in 4 parts; smallest delta -2, width 2.
  const uint8_t deltas[] = {0x80,       1,          4, 8, 14, 3, 2, 0, 0, 0,
                            0b11000000, 0b00111111, 0, 0, 0,  0, 0, 0, 99};
  DeltaDecoder decoder(bytes_of(deltas));
  ASSERT_EQ(decoder.count(), 8u);
  for (const int64_t expected : {7, 5, 3, 1, 2, 3, 4, 5}) EXPECT_EQ(decoder.next(), expected);
  EXPECT_EQ(decoder.skip_to_end(), sizeof(deltas) - 1);
  EXPECT_THAT([&] { decoder.next(); }, ThrowsCode(Code::kCorrupt, "more than 8 numbers"));
}

TEST(DeltaDecoder, RefusesImpossibleBlocks) {
  const uint8_t none[] = {0, 4, 8, 14}, uneven[] = {0x80, 1, 3, 8, 14},
                wide[] = {8, 1, 2, 0, 0, 65};
  EXPECT_THAT([&] { DeltaDecoder{bytes_of(none)}; }, ThrowsCode(Code::kCorrupt, "blocks of 0"));
  EXPECT_THAT([&] { DeltaDecoder{bytes_of(uneven)}; }, ThrowsCode(Code::kCorrupt, "3 parts"));
  EXPECT_THAT([&] { DeltaDecoder{bytes_of(wide)}.skip_to_end(); },
              ThrowsCode(Code::kCorrupt, "65 bits"));
}

}  // namespace
}  // namespace berth::parquet
