#include <gmock/gmock.h>

#include "storage/formats/row_readers.h"
#include "storage/formats/tsv_quotes.h"
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

std::string seen_in(std::string_view tsv) {
  switch (find_tsv_quotes(tsv, '\t', /*is_all=*/true)) {
    case TsvQuotes::kNone:
      return "none";
    case TsvQuotes::kText:
      return "text";
    case TsvQuotes::kCsv:
      break;
  }
  return "csv";
}

TEST(TsvQuotes, OfPandasAreDoubledOrNeeded) {
  EXPECT_EQ(seen_in("s\tl\n\"she said \"\"x\"\"\"\t0\nb\t1\n"), "csv");
  EXPECT_EQ(seen_in("s\tl\n\"two\nlines\"\t0\nb\t1\n"), "csv");
  EXPECT_EQ(seen_in("s\tl\n\"a\ttab\"\t0\r\nb\t1\r\n"), "csv");
  EXPECT_EQ(seen_in("\"s\"\t\"l\"\n\"a\"\t\"0\"\n\"b\"\t\"1\"\n"), "csv");  // QUOTE_ALL
  EXPECT_EQ(seen_in("s\tl\n\"a\"\t0\n\"b\"\t1\n"), "csv");                  // QUOTE_NONNUMERIC
  EXPECT_EQ(seen_in("s\tl\n\"a, b\"\t0\nc\t1\n\"d, e\"\t1\n"), "csv");      // Excel
}

TEST(TsvQuotes, OfGlueAreText) {
  EXPECT_EQ(seen_in("s\tl\nhe said \"x\" .\t0\n\"y\" , he said\t1\n"), "text");
  EXPECT_EQ(seen_in("s\tl\n\"open\t0\nb\t1\n"), "text");
  EXPECT_EQ(seen_in("s\tl\n\"a\"\t0\nb\t1\n"), "text");
  EXPECT_EQ(seen_in("s\tl\n\"a\t0\nb\"\t1\n"), "text");  // whole lines either way
  EXPECT_EQ(seen_in("s\tl\n\"a \"\"b\"\"\"\t0\nhe said \"x\"\t1\n"), "text");
  EXPECT_EQ(seen_in("s\tl\n\"a, b\"\t0\nc, f\t1\n\"d, e\"\t1\n"), "text");
  EXPECT_EQ(seen_in("s\tl\na\t0\n"), "none");
}

TEST(TsvQuotes, ThatAreCutAtTheEndOfWhatWasReadDecideNothing) {
  EXPECT_EQ(find_tsv_quotes("s\tl\n\"a \"\"b\"\"\"\t0\n\"cut", '\t', false), TsvQuotes::kCsv);
  EXPECT_EQ(find_tsv_quotes("s\tl\n\"cut", '\t', false), TsvQuotes::kText);
}

TEST(TsvReader, ReadsWhatPandasWrites) {
  const auto reader = make_quoted_tsv_reader(
      source_of("sentence\tlabel\n\"said \"\"a\"\"\tb\nc\"\t0\nplain\t1\n"), '\t', Quoting::kAuto);
  EXPECT_THAT(read_rows(*reader), ElementsAre(ElementsAre(text("said \"a\"\tb\nc"), text("0")),
                                              ElementsAre(text("plain"), text("1"))));
  EXPECT_EQ(reader->findings().at(0).rule, "quotes of CSV in TSV");
}

TEST(TsvReader, AFlagOutranksLooking) {
  constexpr std::string_view kText = "s\tl\n\"a\"\t0\nb\t1\n";
  const auto first = [&](Quoting quoting) {
    return read_rows(*make_quoted_tsv_reader(source_of(kText), '\t', quoting))[0][0];
  };
  EXPECT_EQ(first(Quoting::kAuto), text("\"a\""));
  EXPECT_EQ(first(Quoting::kCsv), text("a"));
  EXPECT_EQ(first(Quoting::kNone), text("\"a\""));
}

}  // namespace
}  // namespace berth
