#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/formats/row_reader.h"
#include "tests/support/pickle_files.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// A table of one column with the same text in each row.
class RepeatedText final : public RowReader {
 public:
  RepeatedText(uint64_t rows, size_t size) : left_(rows), text_(size, 'a') {}
  std::span<const Column> columns() const override { return columns_; }
  bool next(Row& row) override {
    if (left_ == 0) return false;
    --left_;
    row = {text_};
    return true;
  }
  std::string position() const override { return "here"; }
  std::vector<Finding> findings() const override { return {warning("all are one")}; }

 private:
  uint64_t left_;
  const std::string text_;
  const std::vector<Column> columns_ = {{.name = "text", .categories = {}}};
};

// How many rows of so much text a file of `file_bytes` may have, of a million.
uint64_t rows_of(size_t text, uint64_t file_bytes) {
  const auto rows = with_bounded_text(std::make_unique<RepeatedText>(1'000'000, text), file_bytes);
  Row row;
  uint64_t count = 0;
  try {
    while (rows->next(row)) ++count;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBadData);
    EXPECT_EQ(error.where(), "here");
  }
  return count;
}

TEST(BoundedRows, EndWhereAFileRepeatsItsText) {
  EXPECT_EQ(rows_of(1 << 20, 1 << 20), 128);
  EXPECT_EQ(rows_of(1 << 20, 10 << 20), 1281);
  EXPECT_EQ(rows_of(2048, 0), 0);
}

TEST(BoundedRows, MayHaveNamesOfCategoriesInAnyNumber) {
  EXPECT_EQ(rows_of(1024, 0), 1'000'000);
  EXPECT_EQ(rows_of(8, 100), 1'000'000);
}

TEST(BoundedRows, SayWhatTheirReaderHasFound) {
  const auto rows = with_bounded_text(std::make_unique<RepeatedText>(1, 1), 1);
  ASSERT_EQ(rows->findings().size(), 1u);
  EXPECT_EQ(rows->findings()[0].text, "all are one");
}

TEST(OpenRows, PicksTheReaderByTheSuffixInAnyCase) {
  EXPECT_EQ(open_rows(source_of("a\tb,c\n"), "x.csv")->columns().size(), 2u);
  EXPECT_EQ(open_rows(source_of("a\tb\tc,d\n"), "dir.csv/X.TSV")->columns().size(), 3u);
  for (const char* name : {"x.jsonl", "x.ndjson", "x.JSON"}) {
    EXPECT_EQ(open_rows(source_of("{\"a\":1}\n"), name)->columns().size(), 1u) << name;
  }
  for (const char* name : {"df.pickle", "DF.PKL"}) {
    EXPECT_EQ(open_rows(source_of("}U\1aK\7\x85s."), name)->columns().size(), 1u) << name;
  }
}

TEST(OpenRows, AnotherSuffixIsBadDataThatNamesThese) {
  EXPECT_THAT([] { open_rows(source_of(""), "data.docx"); },
              ThrowsCode(Code::kBadData,
                         ".csv, .tsv, .jsonl, .ndjson, .json, .conll, .parquet, .arrow, "
                         ".feather, .npz, .npy, .pickle or .pkl, and plain text in .txt"));
}

TEST(OpenRows, TablesOfVeryManyColumnsAreRefused) {
  std::string header = "c0";
  for (int i = 1; i < 100'000; ++i) header += ",c" + std::to_string(i);
  EXPECT_EQ(open_rows(source_of(header + "\n"), "x.csv")->columns().size(), 100'000u);
  EXPECT_THAT([&] { open_rows(source_of(header + ",more\n"), "x.csv"); },
              ThrowsCode(Code::kBadData, "has 100001 columns, and berth reads tables of at most "));
}

TEST(OpenRows, TablesAreRecognizedByTheirNames) {
  for (const char* name : {"x.csv", "X.TSV", "x.jsonl", "x.ndjson", "x.json", "x.pickle", "x.pkl",
                           "x.parquet", "X.PQ", "x.arrow", "x.arrows", "x.feather", "X.IPC"}) {
    EXPECT_TRUE(is_table(name)) << name;
  }
  for (const char* name : {"data.docx", "csv", "x.csv.gz", ""}) {
    EXPECT_FALSE(is_table(name)) << name;
  }
}

TEST(OpenRows, AParquetFileMayArriveAsAStream) {
  const std::string file = file_content(BERTH_TESTDATA "/parquet/pandas.parquet");
  const auto rows = open_rows(source_of(file), "df.parquet");
  EXPECT_EQ(rows->columns().size(), 2u);
  EXPECT_EQ(read_rows(*rows).size(), 8u);
}

TEST(OpenRows, AnArrowFileMayArriveAsAStream) {
  const std::string file = file_content(BERTH_TESTDATA "/arrow/flat.arrow");
  for (const char* name : {"df.arrow", "df.feather", "df.arrows", "df.IPC"}) {
    EXPECT_EQ(read_rows(*open_rows(source_of(file), name)).size(), 8u) << name;
  }
}

TEST(OpenRows, TheDelimiterMayBeNamed) {
  EXPECT_EQ(open_rows(source_of("a:b,c,d\n"), "x.csv", RowLayout::kByName, {.delimiter = ':'})
                ->columns()
                .size(),
            2u);
  EXPECT_EQ(open_rows(source_of("a;b;c\td\n"), "x.tsv", RowLayout::kByName, {.delimiter = ';'})
                ->columns()
                .size(),
            3u);
}

TEST(OpenRows, AnotherEncodingIsConvertedInTextAlone) {
  const TextForm latin{.delimiter = 0, .encoding = TextEncoding::kLatin1};
  const auto rows =
      read_rows(*open_rows(source_of("a\ncaf\xE9\n"), "x.csv", RowLayout::kByName, latin));
  EXPECT_EQ(rows.at(0).at(0), text("caf\xC3\xA9"));
  const std::string file = file_content(BERTH_TESTDATA "/arrow/flat.arrow");
  EXPECT_EQ(read_rows(*open_rows(source_of(file), "x.arrow", RowLayout::kByName, latin)).size(),
            8u);
}

TEST(OpenRows, ASpreadsheetIsRefusedWithWhatConvertsIt) {
  EXPECT_THAT([] { open_rows(source_of("PK"), "Data.XLSX"); },
              ThrowsCode(Code::kBadData,
                         "pandas.read_excel(\"Data.XLSX\").to_csv(\"Data.csv\", index=False)"));
  EXPECT_THAT([] { open_rows(source_of("PK"), "a.ods"); },
              ThrowsCode(Code::kBadData, "spreadsheet"));
}

TEST(OpenRows, FilesOfOtherProgramsAreRefusedWithWhatConvertsThem) {
  EXPECT_THAT([] { open_rows(source_of("ORC"), "x.ORC"); },
              ThrowsCode(Code::kBadData, "pandas.read_orc(...).to_parquet(...)"));
  EXPECT_THAT([] { open_rows(source_of("a"), "x.csv.part"); },
              ThrowsCode(Code::kBadData, "the download of the file has not ended"));
  EXPECT_THAT([] { open_rows(source_of("a"), "x.doc"); },
              ThrowsCode(Code::kBadData, "is not a table, judging by its name"));
}

TEST(OpenRows, TextThatIsNotUtf8PointsToTheFlag) {
  EXPECT_THAT([] { read_rows(*open_rows(source_of("a\n\xE9\n"), "x.csv")); },
              ThrowsCode(Code::kBadData, "--encoding latin-1"));
}

TEST(OpenRows, EmptyFilesAreBadData) {
  for (const char* name : {"x.csv", "x.tsv", "x.jsonl", "x.pickle"}) {
    EXPECT_THAT([&] { open_rows(source_of(""), name); }, ThrowsCode(Code::kBadData, "is empty"))
        << name;
  }
}

TEST(OpenRows, PlainTextHasARowInEachLine) {
  const auto rows = open_rows(source_of("first line\r\n\n  \nsecond, with a \"quote\n"), "a.txt");
  ASSERT_EQ(rows->columns().size(), 1u);
  EXPECT_EQ(rows->columns()[0].name, "text");
  Row row;
  ASSERT_TRUE(rows->next(row));
  EXPECT_EQ(std::get<std::string>(row.at(0)), "first line");
  ASSERT_TRUE(rows->next(row));
  EXPECT_EQ(std::get<std::string>(row.at(0)), "second, with a \"quote");
  EXPECT_EQ(rows->position(), "line 4");
  EXPECT_FALSE(rows->next(row));
}

}  // namespace
}  // namespace berth
