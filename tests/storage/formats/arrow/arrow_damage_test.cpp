// Reads damaged Arrow files. Each must give an Error or a clean table, and never a crash, a hang or
// a huge allocation.
#include <gmock/gmock.h>

#include "storage/formats/columnar/block_codec.h"
#include "tests/support/columnar_files.h"
#include "tests/support/null_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

void read(Bytes file) { read_some_rows(make_arrow_reader, file); }

TEST(ArrowDamage, PrefixesAreErrors) { expect_no_prefix_reads("arrow", make_arrow_reader); }

// Each file is a case of its own, so that the cases can run at the same time.
class FlippedArrow : public testing::TestWithParam<std::filesystem::path> {};

INSTANTIATE_TEST_SUITE_P(Files, FlippedArrow, testing::ValuesIn(recorded_files("arrow")),
                         [](const auto& file) { return test_name(file.param); });

TEST_P(FlippedArrow, ReadsOrIsAnError) { flip_bytes(GetParam(), make_arrow_reader); }

TEST(ArrowDamage, AStreamWithMoreBehindItsEndIsCorrupt) {
  const std::string file = recorded_file("arrow", "flat.arrows");
  EXPECT_THAT([&] { read(as_bytes(file + file)); },
              ThrowsCode(Code::kCorrupt, "bytes behind the stream's end"));
}

TEST(ArrowDamage, ANumberOfNullsThatTheBitsDoNotHaveIsCorrupt) {
  std::string file = recorded_file("arrow", "flat.arrow");
  // The first batch has three rows, and one null in each column.
  const size_t node = file.find(little_endian(3, 8) + little_endian(1, 8));
  ASSERT_NE(node, file.npos);
  read(as_bytes(file));
  for (const char nulls : {'\0', '\2', '\3'}) {
    file[node + 8] = nulls;
    EXPECT_THAT([&] { read(as_bytes(file)); }, ThrowsCode(Code::kCorrupt, "whose bits say 1"));
  }
}

TEST(ArrowDamage, ABlockThatClaimsMoreThanItCanHoldIsCorrupt) {
  const std::string block(100, 'x');
  std::vector<std::byte> out;
  using columnar::Codec;
  for (const Codec codec : {Codec::kLz4Frame, Codec::kZstd, Codec::kSnappy, Codec::kGzip}) {
    for (const uint64_t size : {UINT64_MAX - 1, uint64_t{1} << 32}) {
      EXPECT_THAT([&] { columnar::decompress(codec, as_bytes(block), size, out); },
                  ThrowsCode(Code::kCorrupt, "claims to hold"));
    }
  }
}

TEST(ArrowDamage, RowsAreCountedWithoutReadingThem) {
  const std::string file = null_rows(uint64_t{1} << 62);
  const auto reader = make_arrow_reader(std::make_unique<BytesInMemory>(as_bytes(file)));
  EXPECT_EQ(reader->rows_left(), uint64_t{1} << 62);
  Row row;
  ASSERT_TRUE(reader->next(row));
  EXPECT_EQ(row, Row(1));
  EXPECT_EQ(reader->rows_left(), (uint64_t{1} << 62) - 1);
}

TEST(ArrowDamage, ErrorsNameTheRowAndTheColumn) {
  std::string file = recorded_file("arrow", "flat.arrow");
  size_t at = 0, damaged = 0;  // a buffer may also hold texts of other batches
  for (; (at = file.find("caf\xC3\xA9", at)) != std::string::npos; ++damaged) file[at + 3] = '\xFF';
  ASSERT_GT(damaged, 0u);
  EXPECT_THAT([&] { read(as_bytes(file)); },
              ThrowsCode(Code::kBadData, "row 3: column \"text\": is not UTF-8"));
}

}  // namespace
}  // namespace berth
