// Files and streams that pyarrow, pandas, polars and datasets wrote. Each must be read as pyarrow
// reads it.
#include <gmock/gmock.h>

#include <map>

#include "tests/support/columnar_files.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::unique_ptr<RowReader> read_arrow(std::string_view file) {
  return make_arrow_reader(std::make_unique<BytesInMemory>(as_bytes(file)));
}

TEST(ArrowGolden, EveryRecordedFileReadsAsPyarrowReadsIt) {
  expect_as_recorded("arrow", make_arrow_reader);
}

TEST(ArrowGolden, ColumnsWhoseValuesHaveNoFormAsCellsSayWhatTheyHold) {
  std::map<std::string, std::string> unreadable;
  const auto reader = read_arrow(recorded_file("arrow", "meanings.arrow"));
  for (const Column& column : reader->columns()) {
    if (!column.unreadable.empty()) unreadable[column.name] = column.unreadable;
  }
  EXPECT_THAT(unreadable,
              testing::UnorderedElementsAre(testing::Pair("duration", "durations"),
                                            testing::Pair("interval", "intervals"),
                                            testing::Pair("union", "unions"),
                                            testing::Pair("runs", "run-end encoded values")));
}

TEST(ArrowGolden, PositionIsTheRowFromZero) {
  const auto reader = read_arrow(recorded_file("arrow", "flat.arrow"));  // of three record batches
  Row row;
  for (int i = 0; i < 5; ++i) reader->next(row);
  EXPECT_EQ(reader->position(), "row 4");
}

TEST(ArrowGolden, ColumnsThatAreNotSelectedAreMissing) {
  const auto reader = read_arrow(recorded_file("arrow", "flat_zstd.arrows"));
  const size_t few = find_column(reader->columns(), "few").value();
  reader->select(std::array{few});
  const auto rows = read_rows(*reader);
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[7][few], text("a"));
  EXPECT_EQ(rows[7][find_column(reader->columns(), "text").value()], kMissing);
}

TEST(ArrowGolden, ColumnsMayBeSelectedAfterSomeRows) {
  const auto reader = read_arrow(recorded_file("arrow", "flat.arrows"));
  const size_t column = find_column(reader->columns(), "i64").value();
  Row row;
  reader->next(row);
  reader->select(std::array{column});
  const auto rows = read_rows(*reader);
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[2][column], Cell(int64_t{-7'000'000'000'000'000}));
}

TEST(ArrowGolden, AnotherKindOfFileIsRefused) {
  for (const std::string_view other : {"text,label\na,b\n", "PAR1", "PK\3\4 and some more"}) {
    EXPECT_THAT([&] { read_arrow(other); },
                ThrowsCode(Code::kBadData, "does not begin as a file or stream of Arrow does"));
  }
  EXPECT_THAT([] { read_arrow(""); }, ThrowsCode(Code::kBadData, "is empty"));
}

TEST(ArrowGolden, TheFirstVersionOfFeatherIsRefusedWithWhatConvertsIt) {
  const auto read = [] { read_arrow("FEA1 and so on"); };
  EXPECT_THAT(read, ThrowsCode(Code::kBadData, "Feather file of version 1"));
  EXPECT_THAT(read, ThrowsCode(Code::kBadData, "read_feather(\"old.feather\").to_feather("));
}

}  // namespace
}  // namespace berth
