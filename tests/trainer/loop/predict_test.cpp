#include "trainer/loop/predict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "storage/base/memory_sink.h"
#include "tests/support/letter_data.h"
#include "tests/trainer/loop/tiny_model.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class PredictionsTest : public testing::Test {
 protected:
  // Returns the fields of every line, or nothing if no prediction file was finished.
  std::vector<std::vector<std::string>> predict(Dataset& data,
                                                const std::vector<std::string>& labels) {
    MemorySink sink;
    Observer nobody;
    const auto lines = make_prediction_lines(data, labels, {});
    const std::vector<PredictionFile> files = {{*lines, sink}};
    finished_ = write_predictions(*tiny_.engine, data, 4, files, nobody, stop_, nullptr);
    std::istringstream stream{std::string(as_text(sink.written))};
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(stream, line);) {
      std::istringstream fields(line);
      rows.emplace_back();
      for (std::string field; std::getline(fields, field, '\t');) rows.back().push_back(field);
    }
    return rows;
  }

  TinyModel tiny_{3};
  LetterData data_{11};
  std::atomic<bool> stop_ = false;
  bool finished_ = false;
};

TEST_F(PredictionsTest, HaveAHeaderAndALineForEachExample) {
  const auto rows = predict(*data_.dataset, {"neg", "pos"});
  EXPECT_TRUE(finished_);
  ASSERT_THAT(rows, SizeIs(12));
  EXPECT_THAT(rows[0], ElementsAre("id", "prediction", "neg", "pos"));
  for (size_t i = 1; i < rows.size(); ++i) {
    ASSERT_THAT(rows[i], SizeIs(4));
    EXPECT_EQ(rows[i][0], std::to_string(i - 1));
    const double neg = std::stod(rows[i][2]), pos = std::stod(rows[i][3]);
    EXPECT_NEAR(neg + pos, 1, 2e-9);
    EXPECT_EQ(rows[i][1], pos > neg ? "pos" : "neg");
  }
}

TEST_F(PredictionsTest, ProbabilitiesHaveNineDigits) {
  for (const auto& row : predict(*data_.dataset, {"neg", "pos"})) {
    if (row[0] == "id") continue;
    for (const std::string& field : {row[2], row[3]}) {
      EXPECT_THAT(field, testing::MatchesRegex("[01]\\.[0-9]{9}"));
    }
  }
}

TEST_F(PredictionsTest, IdsAreRowsOfTheTable) {
  const auto some = data_.data->some({7, 2});
  const auto rows = predict(*some, {"neg", "pos"});
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[1][0], "7");
  EXPECT_EQ(rows[2][0], "2");
}

// tests/trainer/tasks says how line ends are quoted.
TEST_F(PredictionsTest, ALabelWithQuotesIsQuoted) {
  const auto rows = predict(*data_.dataset, {"a\"b", "c"});
  EXPECT_THAT(rows[0], ElementsAre("id", "prediction", "\"a\"\"b\"", "c"));
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_THAT(rows[i], SizeIs(4));
    EXPECT_THAT(rows[i][1], testing::AnyOf("\"a\"\"b\"", "c"));
  }
}

TEST_F(PredictionsTest, AStopLeavesThemUnfinished) {
  stop_ = true;
  predict(*data_.dataset, {"neg", "pos"});
  EXPECT_FALSE(finished_);
}

}  // namespace
}  // namespace berth
