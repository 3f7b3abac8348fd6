#include "storage/formats/tfrecord.h"

#include <gtest/gtest.h>

#include "storage/base/checksum.h"
#include "tests/support/every_damage.h"
#include "tests/support/throws_code.h"
#include "tests/support/trickling_source.h"

namespace berth {
namespace {

std::vector<std::string> read_from(std::unique_ptr<ByteSource> source) {
  TfRecordReader reader(std::move(source));
  std::vector<std::string> records;
  for (std::vector<std::byte> data; reader.next(data);) records.emplace_back(as_text(data));
  return records;
}

std::vector<std::string> read_records(Bytes file) {
  return read_from(std::make_unique<MemorySource>(file));
}

class TfRecordTest : public testing::Test {
 protected:
  TfRecordTest() {
    for (const char* record : {"one", "", "three"}) append_tfrecord(file_, as_bytes(record));
  }
  std::vector<std::byte> file_;
};

TEST_F(TfRecordTest, ReadsWhatItWrote) {
  EXPECT_THAT(read_records(file_), testing::ElementsAre("one", "", "three"));
  EXPECT_THAT(read_from(std::make_unique<TricklingSource>(file_)),
              testing::ElementsAre("one", "", "three"));
}

TEST_F(TfRecordTest, KnowsWhereARecordStands) {
  TfRecordReader reader(std::make_unique<MemorySource>(file_));
  std::vector<std::byte> data;
  reader.next(data);
  EXPECT_EQ(reader.offset(), 0u);
  reader.next(data);
  EXPECT_EQ(reader.offset(), 19u);
}

TEST_F(TfRecordTest, AnEmptyFileHoldsNoRecords) { EXPECT_TRUE(read_records({}).empty()); }

TEST_F(TfRecordTest, ACutFileEndsEarlyUnlessBetweenRecords) {
  EXPECT_THAT(accepted_prefixes(file_, [](Bytes b) { read_records(b); }),
              testing::ElementsAre(0, 19, 35));
  EXPECT_THAT([&] { read_records(Bytes(file_).first(30)); },
              ThrowsCode(Code::kCorrupt, "record at byte 19: ends early"));
}

TEST_F(TfRecordTest, EveryFlippedBitIsNoticed) {
  EXPECT_THAT(accepted_flips(file_, [](Bytes b) { read_records(b); }), testing::IsEmpty());
}

TEST_F(TfRecordTest, AnImpossibleSizeIsRefusedEvenWhenItsChecksumIsRight) {
  for (const uint64_t size : {uint64_t{1} << 30, (uint64_t{1} << 30) + 1, UINT64_MAX}) {
    std::vector<std::byte> file;
    const auto claim = std::as_bytes(std::span(&size, 1));
    file.insert(file.end(), claim.begin(), claim.end());
    const uint32_t crc = crc32c_mask(crc32c(claim));
    const auto checksum = std::as_bytes(std::span(&crc, 1));
    file.insert(file.end(), checksum.begin(), checksum.end());
    EXPECT_THAT([&] { read_records(file); }, ThrowsCode(Code::kCorrupt, "record at byte 0"));
  }
}

}  // namespace
}  // namespace berth
