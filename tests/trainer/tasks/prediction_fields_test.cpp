#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "trainer/tasks/predictions.h"

namespace berth {
namespace {

// pandas.read_csv(sep="\t") reads them back.
TEST(PredictionFields, AreQuotedWhereTheyHoldQuotesTabsOrLineEnds) {
  EXPECT_EQ(one_field("a b"), "a b");
  EXPECT_EQ(one_field("a\tb"), "\"a\tb\"");
  EXPECT_EQ(one_field("a\nb"), "\"a\nb\"");
  EXPECT_EQ(one_field("a\r\nb"), "\"a\r\nb\"");
  EXPECT_EQ(one_field("say \"a\""), "\"say \"\"a\"\"\"");
  EXPECT_EQ(end_of_line("0\t\"a\nb\"\tx\n1\n", 0), 10u);
  EXPECT_EQ(end_of_line("0\n1\n", 2), 4u);
}

// What a terminal acts on is shown. The marks of other alphabets, such as a joiner, stay.
TEST(PredictionFields, HaveNoControlCharacters) {
  EXPECT_EQ(one_field("\x1b[31mred\a"), "\\x1b[31mred\\x07");
  EXPECT_EQ(one_field("a\rb"), "a\\x0db");
  EXPECT_EQ(one_field("a\xE2\x80\xAE"
                      "b"),
            "a\\u202eb");
  EXPECT_EQ(one_field("a\xC2\x9B"
                      "b"),
            "a\\x9bb");
  EXPECT_EQ(one_field("\xE0\xA4\x95\xE2\x80\x8D"), "\xE0\xA4\x95\xE2\x80\x8D");
}

class FixedLines final : public PredictionLines {
 public:
  explicit FixedLines(std::string line) : line_(std::move(line)) {}
  std::string header() const override { return line_; }
  std::string add(int64_t, std::span<const float>) override { return line_; }

 private:
  const std::string line_;
};

std::string safe(const std::string& line) {
  const auto lines = with_spreadsheet_cells(std::make_unique<FixedLines>(line));
  EXPECT_EQ(lines->header(), lines->add(0, {}));
  return lines->header();
}

TEST(SpreadsheetCells, TextsAreNotComputed) {
  EXPECT_EQ(safe("=1+1\t+a\t-a\t@a\n"), "'=1+1\t'+a\t'-a\t'@a\n");
  EXPECT_EQ(safe("\"=a\"\"b\"\t\"\t=a\"\t\"\n=a\"\n"), "\"'=a\"\"b\"\t\"'\t=a\"\t\"'\n=a\"\n");
  EXPECT_EQ(safe("0\t-1+2\n=a\t1\n"), "0\t'-1+2\n'=a\t1\n") << "several lines";
}

TEST(SpreadsheetCells, NumbersAndOtherTextsStay) {
  for (const char* line : {"", "\n", "0\t-0.125\t+1\n", "a=b\tc - d\te@f\n", "-1.5\n\t\t\n",
                           "\"say \"\"=a\"\"\"\t\"a\n=b\t=c\"\n"}) {
    EXPECT_EQ(safe(line), line);
  }
}

}  // namespace
}  // namespace berth
