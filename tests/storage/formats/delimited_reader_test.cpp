#include "storage/formats/delimited_reader.h"

#include <gmock/gmock.h>

#include "storage/formats/row_readers.h"
#include "storage/formats/text_lines.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"
#include "tests/support/trickling_source.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<Row> rows_of(std::string_view csv) {
  return read_rows(*make_csv_reader(source_of(csv)));
}

// A source of `size` letters without a newline.
class Endless final : public ByteSource {
 public:
  Endless(std::string_view start, size_t size) : start_(start), left_(size) {}
  size_t read(std::span<std::byte> buffer) override {
    if (!start_.empty()) {
      const size_t count = std::min(start_.size(), buffer.size());
      std::copy_n(as_bytes(start_).begin(), count, buffer.begin());
      start_.remove_prefix(count);
      return count;
    }
    const size_t count = std::min(left_, buffer.size());
    std::fill_n(buffer.begin(), count, std::byte{'x'});
    left_ -= count;
    return count;
  }

 private:
  std::string_view start_;
  size_t left_;
};

TEST(CsvReader, FirstLineNamesTheColumns) {
  const auto reader = make_csv_reader(source_of("text,label\na,1\n"));
  EXPECT_THAT(column_names(*reader), ElementsAre("text", "label"));
  EXPECT_THAT(read_rows(*reader), ElementsAre(ElementsAre(text("a"), text("1"))));
}

TEST(CsvReader, QuotedFieldsHoldCommasNewlinesAndDoubledQuotes) {
  EXPECT_THAT(rows_of("t,l\n\"a, \"\"b\"\"\r\nc\",1\n"),
              ElementsAre(ElementsAre(text("a, \"b\"\r\nc"), text("1"))));
}

std::string said_of_csv(std::string_view csv) {
  const auto reader = make_csv_reader(source_of(csv));
  read_rows(*reader);
  std::string all;
  for (const Finding& found : reader->findings()) all += found.text;
  return all;
}

TEST(CsvReader, AQuotedFieldOfLinesThatLookLikeRowsIsNamed) {
  EXPECT_THAT(said_of_csv("text,label\n\"so it began,a\nb,x\nc,y\nd,x\ne\",y\n"),
              testing::HasSubstr("the quote that opens on line 2 closes on line 6"));
  EXPECT_EQ(said_of_csv("text,label\n\"one\ntwo\nthree\nfour\nfive\",y\n"), "");
  EXPECT_EQ(said_of_csv("text,label\n\"one\na, b\nc, d\ntwo\nthree, four\nfive\",y\n"), "");
  EXPECT_EQ(said_of_csv("text,label\n\"a\nb,x\nc\",y\n"), "");
}

TEST(CsvReader, AQuotedFieldOfFewRowsIsNamedByTheValuesOfTheirColumns) {
  const std::string rows = "a,x\nb,y\nc,x\nd,y\ne,x\n";
  const auto says = testing::HasSubstr(
      "the quote that opens on line 7 closes on line 8, and its "
      "lines look like rows");
  EXPECT_THAT(said_of_csv("text,label\n" + rows + "\"so it began,x\nthe end\",y\n"), says);
  EXPECT_THAT(said_of_csv("text,label\r\na,x\r\nb,y\r\nc,x\r\nd,y\r\ne,x\r\n\"so,x\r\nit\",y\r\n"),
              says);
  EXPECT_THAT(said_of_csv("label,text\nx,a\ny,b\nx,c\ny,d\nx,e\ny,\"so\nx,it\"\n"), says);
  EXPECT_THAT(said_of_csv("text,score\na,0.1\nb,0.2\nc,0.3\nd,0.4\ne,0.5\n\"so,0.6\nit\",0.7\n"),
              says);
  EXPECT_THAT(said_of_csv("text,label\n" + rows + "\"so,x\nit,y\nwas\",y\n"),
              testing::HasSubstr("closes on line 9"));
  EXPECT_EQ(said_of_csv("text,label\n" + rows + "\"so, it\nwas\",y\n"), "");
  EXPECT_EQ(said_of_csv("text,label\n" + rows + "\"so,\"\"x\"\"\nit, x\",y\n"), "");
}

TEST(CsvReader, FieldsOfISO2022AreNamed) {
  EXPECT_THAT([] { rows_of("a,b\n\x1B$B:#,F|,8l\x1B(B,x\n"); },
              ThrowsCode(Code::kBadData, "seems to be in ISO-2022-JP"));
}

TEST(CsvReader, FilesOfOtherFormatsAreNamed) {
  const std::pair<std::string, const char*> files[] = {
      {"PAR1\x15\x04", "is a Parquet file, not text"},
      {std::string("ARROW1\0\0", 8), "is an Arrow file"},
      {"SQLite format 3" + std::string(1, '\0'), "is a database of SQLite"},
      {"\x80\x04\x95", "is a pickle"},
      {"%PDF-1.7", "is a PDF document"},
      {"\xD0\xCF\x11\xE0", "is an old spreadsheet"}};
  for (const auto& [beginning, said] : files) {
    EXPECT_THAT([&] { rows_of(beginning + "\n\xFF"); }, ThrowsCode(Code::kBadData, said));
  }
}

TEST(CsvReader, EmptyIsMissingUnlessQuoted) {
  EXPECT_THAT(rows_of("a,b,c\n,\"\",\n"), ElementsAre(ElementsAre(kMissing, text(""), kMissing)));
}

TEST(CsvReader, AQuoteInsideAnUnquotedFieldIsText) {
  EXPECT_THAT(rows_of("a,b\n5\" pipe,x\n"), ElementsAre(ElementsAre(text("5\" pipe"), text("x"))));
}

TEST(CsvReader, TakesWindowsLinesByteOrderMarkAndNoFinalNewline) {
  const auto reader = make_csv_reader(source_of("\xEF\xBB\xBFt,l\r\na,1\r\nb,2"));
  EXPECT_THAT(column_names(*reader), ElementsAre("t", "l"));
  EXPECT_THAT(read_rows(*reader),
              ElementsAre(ElementsAre(text("a"), text("1")), ElementsAre(text("b"), text("2"))));
}

TEST(CsvReader, BlankLinesAreSkipped) {
  EXPECT_THAT(rows_of("\nt,l\n\na,1\n\n\n"), ElementsAre(ElementsAre(text("a"), text("1"))));
}

TEST(CsvReader, UnnamedIndexColumnHasAnEmptyName) {
  EXPECT_THAT(column_names(*make_csv_reader(source_of(",text\n0,a\n"))), ElementsAre("", "text"));
}

TEST(CsvReader, AHeaderWithoutRowsIsAnEmptyTable) {
  EXPECT_THAT(rows_of("text,label\n"), IsEmpty());
}

TEST(CsvReader, PositionIsTheLineThatTheRecordBegins) {
  const auto reader = make_csv_reader(source_of("t\n\"a\nb\"\nc\n"));
  Row row;
  reader->next(row);
  EXPECT_EQ(reader->position(), "line 2");
  reader->next(row);
  EXPECT_EQ(reader->position(), "line 4");
}

TEST(CsvReader, ReadsWhateverPortionsTheSourceGives) {
  const std::string_view csv = "t,l\r\n\"a\r\n\"\"b\",1\r\n\xE2\x82\xAC,2\n";
  const auto reader = make_csv_reader(std::make_unique<TricklingSource>(as_bytes(csv)));
  EXPECT_EQ(read_rows(*reader), rows_of(csv));
}

TEST(CsvReader, EmptyFileIsBadData) {
  EXPECT_THAT([] { rows_of(""); }, ThrowsCode(Code::kBadData, "is empty"));
  EXPECT_THAT([] { rows_of("\n\n"); }, ThrowsCode(Code::kBadData, "is empty"));
}

TEST(CsvReader, RaggedRowIsBadDataWithItsLine) {
  EXPECT_THAT([] { rows_of("a,b\n1,2\n1,2,3\n"); },
              ThrowsCode(Code::kBadData, "line 3: has 3 fields, but the header has 2"));
  EXPECT_THAT([] { rows_of("a,b\n1\n"); },
              ThrowsCode(Code::kBadData, "line 2: has 1 field, but the header has 2"));
}

TEST(CsvReader, InvalidUtf8IsBadDataWithLineAndByte) {
  EXPECT_THAT([] { rows_of("a\nxy\xFFz\n"); },
              ThrowsCode(Code::kBadData, "line 2: byte 3 is not UTF-8"));
  EXPECT_THAT([] { rows_of("a\n\xED\xA0\x80\n"); },  // a surrogate
              ThrowsCode(Code::kBadData, "line 2: byte 1 is not UTF-8"));
}

TEST(CsvReader, AQuoteThatSwallowsRowsIsNamedWhereItOpens) {
  EXPECT_THAT([] { rows_of("a,b\n1,2\n3,\"x\ny\nz"); },
              ThrowsCode(Code::kCorrupt, "line 3: a quote opens here and is never closed"));
  EXPECT_THAT([] { rows_of("a,b\n3,\"x\ny,1\nz\"t,2\n"); },
              ThrowsCode(Code::kCorrupt,
                         "line 2: a quote opens here, and text follows the closing quote on "
                         "line 4"));
}

TEST(CsvReader, TextBehindAClosingQuoteIsBadData) {
  EXPECT_THAT([] { rows_of("a\n\"x\"y\n"); },
              ThrowsCode(Code::kBadData, "line 2: text follows the closing quote at byte 3"));
  // As Spark and R write quotes.
  EXPECT_THAT([] { rows_of("a\n\"x \\\"y\\\" z\"\n"); },
              ThrowsCode(Code::kBadData, "is doubled and not written \\\""));
}

TEST(CsvReader, BlanksAroundAColumnsNameAreRemoved) {
  EXPECT_THAT(column_names(*make_csv_reader(source_of("text, label \na, b\n"))),
              ElementsAre("text", "label"));
}

TEST(CsvReader, TwoColumnsOfOneNameAreBadData) {
  EXPECT_THAT([] { rows_of("text,label,text\n"); },
              ThrowsCode(Code::kBadData, "line 1: two columns are named \"text\""));
}

TEST(CsvReader, ALineHasALimit) {
  constexpr size_t kTooLong = TextLines::kLimitBytes + 1;
  const auto reader = make_csv_reader(std::make_unique<Endless>("a,b\nc", kTooLong));
  EXPECT_THAT([&] { read_rows(*reader); },
              ThrowsCode(Code::kBadData, "line 2: is longer than 64.0 MiB"));
}

TEST(CsvReader, EveryPrefixAndFlippedByteReadsOrIsAnError) {
  const std::string csv =
      "text,label\n\"a, \"\"b\"\"\nc\",1\r\n\xE2\x82\xAC\xF0\x9F\x98\x80,2\n,\"\"\n";
  for (size_t size = 0; size < csv.size(); ++size) {
    try {
      rows_of(csv.substr(0, size));
    } catch (const Error& error) {
      EXPECT_THAT(error.code(), testing::AnyOf(Code::kBadData, Code::kCorrupt));
    }
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = csv;
      flipped[size] = static_cast<char>(flipped[size] ^ (1 << bit));
      try {
        rows_of(flipped);
      } catch (const Error& error) {
        EXPECT_THAT(error.code(), testing::AnyOf(Code::kBadData, Code::kCorrupt));
      }
    }
  }
}

TEST(CsvReader, TheHeaderShowsTheDelimiter) {
  for (const char delimiter : {',', ';', '\t', '|'}) {
    std::string csv = "a,\"x;y,|\"\n\"1;2|3\",z\n";
    std::ranges::replace(csv, ',', delimiter);
    const auto reader = make_csv_reader(source_of(csv));
    EXPECT_EQ(reader->columns().size(), 2u) << delimiter;
    EXPECT_THAT(read_rows(*reader), ElementsAre(ElementsAre(text("1;2|3"), text("z"))))
        << delimiter;
  }
}

TEST(CsvReader, ALineForExcelNamesTheDelimiter) {
  const auto reader = make_csv_reader(source_of("sep=^\r\na,b^c\r\n1^2\r\n"));
  EXPECT_THAT(column_names(*reader), ElementsAre("a,b", "c"));
  EXPECT_THAT(read_rows(*reader), ElementsAre(ElementsAre(text("1"), text("2"))));
  EXPECT_THAT(column_names(*make_csv_reader(source_of("\"sep=;\"\n\"a\";\"b\"\n"))),
              ElementsAre("a", "b"));
  EXPECT_THAT(column_names(*make_csv_reader(source_of("sep=;\n"))), ElementsAre(""));
  EXPECT_THAT(column_names(*make_csv_reader(source_of("sep=,x\n1,2\n"))), ElementsAre("sep=", "x"));
}

TEST(CsvReader, LinesMayEndWithCr) {
  EXPECT_THAT(rows_of("a,b\r1,\"2\r3\"\r4,5"),
              ElementsAre(ElementsAre(text("1"), text("2\r3")), ElementsAre(text("4"), text("5"))));
}

TEST(CsvReader, ACommaIsTheDelimiterUnlessAnotherIsMoreFrequent) {
  EXPECT_THAT(column_names(*make_csv_reader(source_of("a,b;c\n"))), ElementsAre("a", "b;c"));
  EXPECT_THAT(column_names(*make_csv_reader(source_of("a;b,c;d\n"))), ElementsAre("a", "b,c", "d"));
  EXPECT_THAT(column_names(*make_csv_reader(source_of("text\n"))), ElementsAre("text"));
}

TEST(CsvReader, ReadsUtf16) {
  using std::string_literals::operator""s;
  const std::string csv = "\xFF\xFE"s + "a\0;\0b\0\n\0\xE9\0;\0x\0\n\0"s;
  EXPECT_THAT(read_rows(*make_csv_reader(source_of(csv))),
              ElementsAre(ElementsAre(text("\xC3\xA9"), text("x"))));
}

// Files that were joined to one bring their headers, and their byte order marks.
TEST(CsvReader, AHeaderBetweenRowsIsNoRow) {
  const auto reader = make_csv_reader(
      source_of("text,label\na,1\n\xEF\xBB\xBFtext, label\nb,2\n\"text\",label\nc,3\n"));
  EXPECT_THAT(read_rows(*reader),
              ElementsAre(ElementsAre(text("a"), text("1")), ElementsAre(text("b"), text("2")),
                          ElementsAre(text("c"), text("3"))));
  ASSERT_EQ(reader->findings().size(), 1u);
  EXPECT_TRUE(reader->findings()[0].is_warning);
  EXPECT_EQ(reader->findings()[0].rule, "headers between rows are left out");
  EXPECT_THAT(reader->findings()[0].text, testing::HasSubstr("again on line 3"));
  EXPECT_THAT(rows_of("text\na\ntext\n"),
              ElementsAre(ElementsAre(text("a")), ElementsAre(text("text"))));
  EXPECT_THAT(rows_of(",text\n0,text\n"), ElementsAre(ElementsAre(text("0"), text("text"))));
}

TEST(CsvReader, AHeaderBetweenRowsMayHaveAnotherCase) {
  EXPECT_THAT(rows_of("text,label\na,1\nText,LABEL\nb,2\n"),
              ElementsAre(ElementsAre(text("a"), text("1")), ElementsAre(text("b"), text("2"))));
  EXPECT_THAT([] { rows_of("text,label,id\na,1,2\nLabel,text,id\nb,2,3\n"); },
              ThrowsCode(Code::kCorrupt, "line 3: the header stands here again"));
  EXPECT_THAT(rows_of("text,label\nlabel,label\n"),
              ElementsAre(ElementsAre(text("label"), text("label"))));
  EXPECT_THAT(rows_of("no,yes\nyes,no\n"), ElementsAre(ElementsAre(text("yes"), text("no"))));
}

TEST(CsvReader, ASpreadsheetIsNoText) {
  EXPECT_THAT([] { rows_of("PK\x03\x04\x14\xFF\n"); },
              ThrowsCode(Code::kBadData, "a zip archive or a spreadsheet"));
}

TEST(CsvReader, ARaggedRowSaysWhatItMayBe) {
  const std::pair<const char*, const char*> rows[] = {
      {"'a, b',1", "not in single ones"},
      {"1, \"a, b\"", "without a blank"},
      {"a\\, b,1", "a backslash does not escape"},
      {"a,b,1", "give it a name in the header"},
      {"\"a,1\"", "the line may be in quotes as a whole"},
      {"a;1", "--delimiter names it"}};
  for (const auto& [row, hint] : rows) {
    EXPECT_THAT([&] { rows_of(std::string("text,label\n") + row); },
                ThrowsCode(Code::kBadData, hint))
        << row;
  }
  EXPECT_THAT(column_names(*make_csv_reader(source_of("\xEF\xBB\xBF\xEF\xBB\xBFtext,l\n"))),
              ElementsAre("text", "l"));
}

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
