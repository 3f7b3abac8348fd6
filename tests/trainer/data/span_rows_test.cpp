#include "trainer/data/span_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/formats/row_readers.h"
#include "tests/support/read_rows.h"
#include "tests/support/throws_code.h"
#include "trainer/data/table_loader.h"

namespace berth {
namespace {

using testing::ElementsAre;

// The sentences of a JSON file, each as "word/TAG word/TAG".
std::vector<std::string> read_spans(std::string_view json, LoadRules rules = {}) {
  TableLoader loader(std::move(rules));
  loader.append_rows(make_json_reader(source_of(json)));
  const auto table = loader.finish();
  EXPECT_EQ(loader.task(), Task::kTokenClassification);
  std::vector<std::string> sentences;
  for (uint32_t row = 0; row < table->rows(); ++row) {
    const Example example = table->read(row);
    std::string& sentence = sentences.emplace_back();
    for (size_t i = 0; i < example.texts.size(); ++i) {
      sentence += (i == 0 ? "" : " ") + example.texts[i];
      if (i < example.labels.size()) sentence += "/" + table->labels.name_of(example.labels[i]);
    }
  }
  return sentences;
}

const auto kMara = ElementsAre("Zoë/B-PER lives/O in/O New/B-LOC York/I-LOC ./O", "so/O");

TEST(SpanRows, DoccanosBecomeTags) {
  for (const char* name : {"label", "labels"}) {
    const std::string line = std::string(R"({"text": "Zoë lives in New York.", ")") + name +
                             R"(": [[13, 21, "LOC"], [0, 3, "PER"]]})" + "\n";
    EXPECT_THAT(read_spans(line + R"({"text": "so", ")" + name + "\": []}\n"), kMara);
  }
  EXPECT_THAT(
      read_spans(
          R"([{"text": "Zoë lives in New York.", "entities": [{"id": 1, "label": "PER",  "start_offset": 0, "end_offset": 3}, {"id": 2, "label": "LOC", "start_offset": 13,  "end_offset": 21}]}])"),
      ElementsAre("Zoë/B-PER lives/O in/O New/B-LOC York/I-LOC ./O"));
}

TEST(SpanRows, SpacysAndLabelStudiosBecomeTags) {
  EXPECT_THAT(
      read_spans(R"([{"text": "Zoë lives in New York.", "tokens": [{"text": "Zoë"}], "spans": [
      {"start": 0, "end": 3, "token_start": 0, "label": "PER"}, {"start": 13, "end": 21, "label": "LOC"}]},
      {"text": "so", "tokens": [], "spans": []}])"),
      kMara);
  EXPECT_THAT(read_spans(R"([{"text": "Zoë lives in New York.", "label": [
      {"start": 0, "end": 3, "text": "Zoë", "labels": ["PER"]}, {"start": 13, "end": 21, "labels": ["LOC"]}]},
      {"text": "so"}])"),
              kMara);
  EXPECT_THAT(read_spans(R"([{"id": 1, "data": {"text": "Zoë lives in New York."}, "annotations": [
      {"was_cancelled": true, "result": []},
      {"result": [{"value": {"start": 0, "end": 3, "labels": ["PER"]}, "type": "labels"},
                  {"from_id": "a", "to_id": "b", "type": "relation"},
                  {"value": {"start": 13, "end": 21, "labels": ["LOC"]}, "type": "labels"}]}]},
      {"id": 2, "data": {"text": "so"}, "annotations": [{"result": []}]}])"),
              kMara);
}

// What spaCy 2 is trained with: [[text, {"entities": ...}], ...], or such a pair in each line.
TEST(SpanRows, PairsOfSpacysVersion2BecomeTags) {
  const std::string mara =
      R"(["Zoë lives in New York.", {"entities": [[0, 3, "PER"], [13, 21, "LOC"]]}])";
  const std::string so = R"(["so", {"entities": []}])";
  for (const std::string& json :
       {"[" + mara + ",\n  " + so + "]", mara + "\n" + so + "\n",
        R"({"classes": ["PER", "LOC"], "annotations": [)" + mara + ", null, " + so + "]}"}) {
    EXPECT_THAT(read_spans(json), kMara) << json;
  }
  EXPECT_THAT(read_spans("[" + mara + R"(, ["so", {}]])"), kMara);
}

TEST(SpanRows, OverlappingSpansAreRefused) {
  EXPECT_THAT(
      [] { read_spans(R"({"text": "New York", "label": [[0, 8, "LOC"], [4, 8, "ORG"]]})"); },
      ThrowsCode(Code::kBadData, "overlaps the one before it"));
  EXPECT_THAT([] { read_spans(R"({"text": "New York", "label": [[0, 9, "LOC"]]})"); },
              ThrowsCode(Code::kBadData, "is not a part of a text of 8 characters"));
}

}  // namespace
}  // namespace berth
