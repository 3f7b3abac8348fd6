// Tables as people have them. Each must be read as the program reads it that people read it with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/throws_code.h"
#include "trainer/inputs/load_data.h"

namespace berth {
namespace {

// What tests/record/record_readings.py says of a file.
struct Recorded {
  std::string file, given, tags, task;
  Json texts, labels, scores;
};

std::string folder() { return BERTH_TESTDATA "/readings/"; }

std::vector<Recorded> recorded_readings() {
  const auto text = read_text(*make_local_storage(), Uri::parse(folder() + "expected.json"));
  std::vector<Recorded> all;
  for (const Json& row : parse_json(text.value_or("[]"))) {
    all.push_back({.file = row["file"],
                   .given = row["given"],
                   .tags = row["tags"],
                   .task = row["task"],
                   .texts = row["texts"],
                   .labels = row.value("labels", Json()),
                   .scores = row.value("scores", Json())});
  }
  return all;
}

class Readings : public testing::TestWithParam<Recorded> {};

TEST_P(Readings, AreThoseOfTheOtherProgram) {
  const Recorded& recorded = GetParam();
  DataRequest request{.role = "train", .path = folder() + recorded.file};
  if (!recorded.given.empty()) request.rules.task = find_task(recorded.given);
  request.rules.columns.tags = recorded.tags;
  const LoadedTable loaded = load_table(*make_local_storage(), request);
  EXPECT_EQ(task_name(loaded.task), recorded.task);
  Json texts = Json::array(), labels = Json::array(), scores = Json::array();
  for (uint32_t row = 0; row < loaded.table->rows(); ++row) {
    const Example example = loaded.table->read(row);
    texts.push_back(example.texts);
    scores.push_back(example.score);
    std::vector<std::string> names;
    for (const int32_t entry : example.labels) names.push_back(loaded.table->labels.name_of(entry));
    // The labels of a set have no order.
    if (loaded.task == Task::kMultiLabel) std::ranges::sort(names);
    labels.push_back(names);
  }
  EXPECT_EQ(to_text(texts), to_text(recorded.texts));
  if (!recorded.labels.is_null()) {
    EXPECT_EQ(to_text(labels), to_text(recorded.labels));
  }
  if (!recorded.scores.is_null()) {
    EXPECT_EQ(to_text(scores), to_text(recorded.scores));
  }
}

TEST(ReadingsTest, DurationsInParquetAreRefused) {
  const auto storage = make_local_storage();
  // pandas, pyarrow, pyarrow in lists, polars and Spark.
  for (const char* name : {"durations", "durations_arrow", "durations_nested", "durations_polars",
                           "durations_spark"}) {
    EXPECT_THAT(
        [&] { load_table(*storage, {.role = "train", .path = cat(folder(), name, ".parquet")}); },
        ThrowsCode(Code::kBadData, "column \"label\" holds durations"))
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Readings, testing::ValuesIn(recorded_readings()),
                         [](const auto& each) {
                           std::string name = each.param.file + "_" + each.param.tags;
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace berth
