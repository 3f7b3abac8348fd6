// Files that numpy.save, numpy.savez and numpy.savez_compressed wrote.
#include <gmock/gmock.h>

#include "tests/support/columnar_files.h"
#include "tests/support/read_rows.h"

namespace berth {
namespace {

std::unique_ptr<RowReader> read_numpy(std::string_view file) {
  return make_numpy_reader(std::make_unique<BytesInMemory>(as_bytes(file)));
}

TEST(NumpyGolden, EveryRecordedFileReadsAsNumpyReadsIt) {
  expect_as_recorded("numpy", make_numpy_reader);
}

TEST(NumpyGolden, TheNameOfAFileSaysThatItIsATable) {
  for (const char* name : {"rows.npz", "rows.npy"}) {
    EXPECT_TRUE(is_table(name));
    EXPECT_FALSE(holds_text(name));
  }
  const std::string file = recorded_file("numpy", "texts.npy");
  EXPECT_EQ(read_rows(*open_rows(source_of(file), "a.npy")).size(), 5u);
}

TEST(NumpyGolden, ColumnsThatAreNotSelectedAreMissing) {
  const auto reader = read_numpy(recorded_file("numpy", "texts.npz"));
  reader->select(std::array{size_t{1}});
  const auto rows = read_rows(*reader);
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[3], (Row{kMissing, Cell(int64_t{100})}));
}

TEST(NumpyGolden, ColumnsMayBeSelectedAfterSomeRows) {
  const auto reader = read_numpy(recorded_file("numpy", "records.npy"));
  Row row;
  reader->next(row);
  reader->select(std::array{size_t{2}});
  const auto rows = read_rows(*reader);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[3], (Row{kMissing, kMissing, Cell(1.0)}));
}

}  // namespace
}  // namespace berth
