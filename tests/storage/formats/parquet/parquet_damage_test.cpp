// Reads damaged Parquet files. Each must give an Error or a clean table, and never a crash, a hang
// or a huge allocation.
#include <gmock/gmock.h>

#include "tests/support/columnar_files.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

void read(Bytes file) { read_some_rows(make_parquet_reader, file); }

TEST(ParquetDamage, PrefixesAreErrors) { expect_no_prefix_reads("parquet", make_parquet_reader); }

// Each file is a case of its own, so that the cases can run at the same time.
class FlippedParquet : public testing::TestWithParam<std::filesystem::path> {};

INSTANTIATE_TEST_SUITE_P(Files, FlippedParquet, testing::ValuesIn(recorded_files("parquet")),
                         [](const auto& file) { return test_name(file.param); });

TEST_P(FlippedParquet, ReadsOrIsAnError) { flip_bytes(GetParam(), make_parquet_reader); }

TEST(ParquetDamage, AChecksumFindsEveryFlipOfAPage) {
  const std::string file = recorded_file("parquet", "plain.parquet");
  const size_t at = file.find("plain");  // the first text
  ASSERT_NE(at, std::string::npos);
  std::string flipped = file;
  flipped[at] ^= 1;
  EXPECT_THAT([&] { read(as_bytes(flipped)); }, ThrowsCode(Code::kCorrupt, "checksum"));
}

// A page says how its values are encoded, and then twice that its levels are runs.
TEST(ParquetDamage, LevelsInAnUnknownEncodingAreCorrupt) {
  std::string file = recorded_file("parquet", "deltas.parquet");
  const size_t at = file.find("\x15\x06\x15\x06");
  ASSERT_NE(at, std::string::npos);
  file[at + 1] = '\x04';
  EXPECT_THAT([&] { read(as_bytes(file)); }, ThrowsCode(Code::kCorrupt, "levels in encoding 2"));
  file[at + 1] = '\x08';
  EXPECT_THAT([&] { read(as_bytes(file)); }, ThrowsCode(Code::kBadData, "BIT_PACKED"));
}

// The texts of a dictionary are checked together, those of other pages one by one.
TEST(ParquetDamage, ErrorsNameTheRowAndTheColumn) {
  for (const char* name : {"deltas.parquet", "flat_none.parquet"}) {
    std::string file = recorded_file("parquet", name);
    const size_t at = file.find("caf\xC3\xA9");
    ASSERT_NE(at, std::string::npos);
    file[at + 3] = '\xFF';
    EXPECT_THAT([&] { read(as_bytes(file)); },
                ThrowsCode(Code::kBadData, "row 3: column \"text\": is not UTF-8"))
        << name;
  }
}

}  // namespace
}  // namespace berth
