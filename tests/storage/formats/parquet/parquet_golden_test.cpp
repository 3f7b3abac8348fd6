// Files that pyarrow, pandas, polars, fastparquet and datasets wrote. Each must be read as pyarrow
// reads it.
#include <gmock/gmock.h>

#include "storage/base/json.h"
#include "storage/formats/row_readers.h"
#include "tests/support/bytes_in_memory.h"
#include "tests/support/cells_as_json.h"
#include "tests/support/parquet_files.h"
#include "tests/support/pickle_files.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::unique_ptr<RowReader> read_parquet(std::string_view file) {
  return make_parquet_reader(std::make_unique<BytesInMemory>(as_bytes(file)));
}

std::string recorded(const std::string& name) {
  return file_content(std::string(BERTH_TESTDATA "/parquet/") + name);
}

TEST(ParquetGolden, EveryRecordedFileReadsAsPyarrowReadsIt) {
  const OrderedJson expected = parse_ordered_json(recorded("expected.json"));
  const auto paths = recorded_parquet_files();
  ASSERT_EQ(paths.size(), expected.size());
  for (const auto& path : paths) {
    try {
      const auto reader = read_parquet(file_content(path));
      EXPECT_EQ(to_text(json_of(*reader)), to_text(expected[path.filename().string()])) << path;
    } catch (const Error& error) {
      ADD_FAILURE() << path << ": " << error.what();
    }
  }
}

TEST(ParquetGolden, PositionIsTheRowFromZero) {
  const auto reader = read_parquet(recorded("flat_none.parquet"));  // of three row groups
  Row row;
  for (int i = 0; i < 5; ++i) reader->next(row);
  EXPECT_EQ(reader->position(), "row 4");
}

TEST(ParquetGolden, ColumnsThatAreNotSelectedAreMissing) {
  const auto reader = read_parquet(recorded("flat_zstd.parquet"));
  const size_t few = find_column(reader->columns(), "few").value();
  reader->select(std::array{few});
  const auto rows = read_rows(*reader);
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[7][few], text("a"));
  EXPECT_EQ(rows[7][find_column(reader->columns(), "text").value()], kMissing);
}

TEST(ParquetGolden, ColumnsMayBeSelectedAfterSomeRows) {
  const auto reader = read_parquet(recorded("flat_snappy.parquet"));
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
  std::string file = recorded("plain.parquet");
  file.replace(0, 4, "PARE");
  EXPECT_THAT([&] { read_parquet(file); }, ThrowsCode(Code::kBadData, "encrypted"));
}

}  // namespace
}  // namespace berth
