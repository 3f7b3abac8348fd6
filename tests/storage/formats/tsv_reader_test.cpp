#include <gmock/gmock.h>

#include "storage/formats/row_readers.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

std::vector<Row> tsv_rows(std::string_view tsv) {
  return read_rows(*make_tsv_reader(source_of(tsv)));
}

TEST(TsvReader, SplitsAtTabsAndStripsNothing) {
  EXPECT_THAT(tsv_rows("sentence\tlabel\n a b \t1\n"),
              ElementsAre(ElementsAre(text(" a b "), text("1"))));
}

TEST(TsvReader, QuotesAreText) {
  EXPECT_THAT(tsv_rows("s\tl\n\"open\t\"0\"\n"),
              ElementsAre(ElementsAre(text("\"open"), text("\"0\""))));
}

TEST(TsvReader, EmptyFieldIsMissing) {
  EXPECT_THAT(tsv_rows("a\tb\tc\n\tx\t\n"),
              ElementsAre(ElementsAre(kMissing, text("x"), kMissing)));
}

TEST(TsvReader, ByteOrderMarkAndWindowsLinesAreNoText) {
  const auto reader = make_tsv_reader(source_of("\xEF\xBB\xBFQuality\tx\r\n1\ty\r\n"));
  EXPECT_THAT(column_names(*reader), ElementsAre("Quality", "x"));
  EXPECT_THAT(read_rows(*reader), ElementsAre(ElementsAre(text("1"), text("y"))));
}

TEST(TsvReader, RaggedRowIsBadDataWithItsLine) {
  EXPECT_THAT([] { tsv_rows("a\tb\n1\t2\n1\n"); },
              ThrowsCode(Code::kBadData, "line 3: has 1 field, but the header has 2"));
}

TEST(TsvReader, EmptyFileIsBadData) {
  EXPECT_THAT([] { tsv_rows(""); }, ThrowsCode(Code::kBadData, "is empty"));
}

}  // namespace
}  // namespace berth
