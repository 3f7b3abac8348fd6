// Reads damaged Parquet files. Each must give an Error or a clean table, and never a crash, a hang
// or a huge allocation.
#include <gmock/gmock.h>

#include "storage/formats/row_readers.h"
#include "tests/support/bytes_in_memory.h"
#include "tests/support/every_damage.h"
#include "tests/support/parquet_files.h"
#include "tests/support/pickle_files.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// A flip may claim any number of rows of nulls, which take no bytes.
constexpr int kEnoughRows = 100;

void read(Bytes file) {
  const auto reader = make_parquet_reader(std::make_unique<BytesInMemory>(file));
  Row row;
  for (int i = 0; i < kEnoughRows && reader->next(row); ++i) {
    if (row.size() != reader->columns().size()) ADD_FAILURE() << "a row of " << row.size();
  }
}

TEST(ParquetDamage, EveryPrefixIsAnError) {
  for (const auto& path : recorded_parquet_files()) {
    const std::string file = file_content(path);
    EXPECT_THAT(accepted_prefixes(as_bytes(file), read), testing::IsEmpty()) << path;
  }
}

// Each file is a case of its own, so that the cases can run at the same time.
class FlippedParquet : public testing::TestWithParam<std::filesystem::path> {};

INSTANTIATE_TEST_SUITE_P(Files, FlippedParquet, testing::ValuesIn(recorded_parquet_files()),
                         [](const auto& file) { return file.param.stem().string(); });

TEST_P(FlippedParquet, ReadsOrIsAnError) {
  std::string file = file_content(GetParam());
  for (size_t at = 0; at < file.size(); ++at) {
    const char whole = file[at];
    file[at] = static_cast<char>(whole ^ (at % 9 == 8 ? 0xFF : 1 << (at % 9)));
    accepts(read, as_bytes(file));
    file[at] = whole;
  }
}

TEST(ParquetDamage, AChecksumFindsEveryFlipOfAPage) {
  const std::string file = file_content(BERTH_TESTDATA "/parquet/plain.parquet");
  const size_t at = file.find("plain");  // the first text
  ASSERT_NE(at, std::string::npos);
  std::string flipped = file;
  flipped[at] ^= 1;
  EXPECT_THAT([&] { read(as_bytes(flipped)); }, ThrowsCode(Code::kCorrupt, "checksum"));
}

TEST(ParquetDamage, ErrorsNameTheRowAndTheColumn) {
  std::string file = file_content(BERTH_TESTDATA "/parquet/deltas.parquet");
  const size_t at = file.find("caf\xC3\xA9");
  ASSERT_NE(at, std::string::npos);
  file[at + 3] = '\xFF';
  EXPECT_THAT([&] { read(as_bytes(file)); },
              ThrowsCode(Code::kBadData, "row 3: column \"text\": is not UTF-8"));
}

}  // namespace
}  // namespace berth
