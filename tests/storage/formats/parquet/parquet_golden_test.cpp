// Files that pyarrow, pandas, polars, fastparquet and datasets wrote. Each must be read as pyarrow
// reads it.
#include <gmock/gmock.h>

#include "tests/support/columnar_files.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::unique_ptr<RowReader> read_parquet(std::string_view file) {
  return make_parquet_reader(std::make_unique<BytesInMemory>(as_bytes(file)));
}

TEST(ParquetGolden, EveryRecordedFileReadsAsPyarrowReadsIt) {
  expect_as_recorded("parquet", make_parquet_reader);
}

TEST(ParquetGolden, PositionIsTheRowFromZero) {
  const auto reader =
      read_parquet(recorded_file("parquet", "flat_none.parquet"));  // of three row groups
  Row row;
  for (int i = 0; i < 5; ++i) reader->next(row);
  EXPECT_EQ(reader->position(), "row 4");
}

TEST(ParquetGolden, ColumnsThatAreNotSelectedAreMissing) {
  const auto reader = read_parquet(recorded_file("parquet", "flat_zstd.parquet"));
  const size_t few = find_column(reader->columns(), "few").value();
  reader->select(std::array{few});
  const auto rows = read_rows(*reader);
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[7][few], text("a"));
  EXPECT_EQ(rows[7][find_column(reader->columns(), "text").value()], kMissing);
}

TEST(ParquetGolden, ColumnsMayBeSelectedAfterSomeRows) {
  const auto reader = read_parquet(recorded_file("parquet", "flat_snappy.parquet"));
  const size_t column = find_column(reader->columns(), "i64").value();
  Row row;
  reader->next(row);
  reader->select(std::array{column});
  const auto rows = read_rows(*reader);
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[2][column], Cell(int64_t{-7'000'000'000'000'000}));
}

TEST(ParquetGolden, AnotherKindOfFileIsRefused) {
  for (const std::string_view other : {"", "PAR1", "text,label\na,b\n", "PK\3\4 and some more"}) {
    EXPECT_THAT([&] { read_parquet(other); },
                ThrowsCode(Code::kCorrupt, "does not begin as a Parquet file does"));
  }
}

TEST(ParquetGolden, AnEncryptedFileIsRefused) {
  std::string file = recorded_file("parquet", "plain.parquet");
  file.replace(0, 4, "PARE");
  EXPECT_THAT([&] { read_parquet(file); }, ThrowsCode(Code::kBadData, "encrypted"));
}

}  // namespace
}  // namespace berth
