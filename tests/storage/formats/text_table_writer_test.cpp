#include "storage/formats/text_table_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/text.h"
#include "storage/formats/row_readers.h"
#include "tests/support/bytes_in_memory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::string written(std::string_view name, const std::vector<std::vector<std::string>>& rows) {
  MemorySink sink;
  const auto writer = make_text_table_writer(name, {"anchor", "negative_1"}, sink);
  for (const std::vector<std::string>& row : rows) writer->add(row);
  writer->finish();
  return std::string(as_text(sink.written));
}

TEST(TextTableWriterTest, CsvQuotesWhatNeedsIt) {
  EXPECT_EQ(written("a.csv", {{"one", "a \"b\", c"}, {"x\ny", ""}}),
            "anchor,negative_1\none,\"a \"\"b\"\", c\"\n\"x\ny\",\"\"\n");
  EXPECT_EQ(written("gs://b/a.TSV", {{"one, two", "a\tb"}}),
            "anchor\tnegative_1\none, two\t\"a\tb\"\n");
}

TEST(TextTableWriterTest, JsonHasAnObjectOnEachLine) {
  EXPECT_EQ(written("a.jsonl", {{"one", "a \"b\"\n"}}),
            "{\"anchor\":\"one\",\"negative_1\":\"a \\\"b\\\"\\n\"}\n");
}

// Row groups of 16 MiB, of pages of 1 MiB.
TEST(TextTableWriterTest, ParquetIsReadBack) {
  constexpr size_t kRows = 50'000;
  std::vector<std::vector<std::string>> rows = {{"one", "\xC3\xA9\n"}, {"", "two"}};
  while (rows.size() < kRows) rows.push_back({cat("row ", rows.size()), std::string(900, 'x')});
  const std::string file = written("a.parquet", rows);
  const auto reader = make_parquet_reader(std::make_unique<BytesInMemory>(as_bytes(file)));
  ASSERT_EQ(reader->columns().size(), 2u);
  EXPECT_EQ(reader->columns()[1].name, "negative_1");
  size_t count = 0;
  for (Row row; reader->next(row); ++count) {
    ASSERT_LT(count, kRows);
    EXPECT_EQ(std::get<std::string>(row[0]), rows[count][0]);
    EXPECT_EQ(std::get<std::string>(row[1]), rows[count][1]);
  }
  EXPECT_EQ(count, kRows);
}

TEST(TextTableWriterTest, AnotherNameIsRefused) {
  EXPECT_THAT([] { require_text_table("mined.xlsx"); },
              ThrowsCode(Code::kUsage, "no format of a table"));
}

}  // namespace
}  // namespace berth
