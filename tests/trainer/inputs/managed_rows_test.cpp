#include "trainer/inputs/managed_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "storage/formats/row_readers.h"
#include "storage/local_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "trainer/inputs/load_data.h"

namespace berth {
namespace {

using testing::ElementsAre;

class ManagedRowsTest : public testing::Test {
 protected:
  std::vector<Row> read(const std::string& lines, LabelNeed need = LabelNeed::kIfPresent,
                        std::optional<Task> task = {}) {
    auto rows = make_jsonl_reader(std::make_unique<MemorySource>(as_bytes(lines)));
    EXPECT_TRUE(names_managed_rows(rows->columns()));
    objects_ = Checksum();
    const auto managed = make_managed_rows(std::move(rows), bucket_, objects_, need, task);
    std::vector<Row> read;
    for (Row row; managed->next(row);) read.push_back(row);
    return read;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> files_ = make_local_storage();
  Checksum objects_;  // of the objects that were read
  BucketOfFiles bucket_{*files_, scratch_.path().string()};
};

const std::string kLine =
    R"({"textContent": "one", "classificationAnnotations": [{"displayName": "a"}]})"
    "\n";

TEST_F(ManagedRowsTest, AreTextsWithLabels) {
  const auto rows = read(kLine + R"({"textContent": "two", "classificationAnnotations": []})"
                                 "\n"
                                 R"({"textContent": "three", "classificationAnnotations": )"
                                 R"([{"displayName": "a"}, {"displayName": "b"}]})"
                                 "\n");
  EXPECT_THAT(rows, ElementsAre(Row{"one", "a"}, Row{"two", Cell()}, Row{"three", R"(["a","b"])"}));
}

TEST_F(ManagedRowsTest, ATextMayBeAnObject) {
  std::string lines;
  std::filesystem::create_directories(scratch_ / "b");
  for (int i = 0; i < 40; ++i) {  // more than are read at the same time
    const std::string name = std::to_string(i) + ".txt";
    write_text(std::filesystem::path(scratch_ / ("b/" + name)), "text of " + name);
    lines += R"({"textContent": "gs://b/)" + name + "\"}\n";
  }
  const std::vector<Row> rows = read(lines);
  ASSERT_EQ(rows.size(), 40u);
  EXPECT_THAT(rows[39], ElementsAre(Cell("text of 39.txt")));
  Checksum all;
  for (int i = 0; i < 40; ++i) all.add(as_bytes("text of " + std::to_string(i) + ".txt"));
  EXPECT_TRUE(objects_ == all);
  EXPECT_THAT([&] { read(R"({"textGcsUri": "gs://b/none.txt"})"); },
              ThrowsCode(Code::kNotFound, "none.txt"));
}

const std::string kSegments = R"({"textContent": "Ann ran.", "textSegmentAnnotations": )"
                              R"([{"endOffset": "3", "displayName": "PER"}]})"
                              "\n"
                              R"({"textContent": "She ran"})"
                              "\n";

TEST_F(ManagedRowsTest, SegmentsAreWordsWithTags) {
  EXPECT_THAT(read(kSegments), ElementsAre(Row{R"(["Ann","ran","."])", R"(["B-PER","O","O"])"},
                                           Row{R"(["She","ran"])", R"(["O","O"])"}));
  EXPECT_THAT(read(kSegments, LabelNeed::kIgnored, Task::kTokenClassification),
              ElementsAre(Row{R"(["Ann","ran","."])"}, Row{R"(["She","ran"])"}));
  EXPECT_THAT(
      read(R"({"textContent": "She ran"})", LabelNeed::kIgnored, Task::kTokenClassification),
      ElementsAre(Row{R"(["She","ran"])"}));
  EXPECT_THAT(read(kSegments, LabelNeed::kIfPresent, Task::kSequenceClassification),
              ElementsAre(Row{"Ann ran."}, Row{"She ran"}));
}

TEST_F(ManagedRowsTest, SegmentsOfAnObjectAreOfItsText) {
  std::filesystem::create_directories(scratch_ / "b");
  write_text(std::filesystem::path(scratch_ / "b/ann.txt"), "Ann ran.");
  write_text(std::filesystem::path(scratch_ / "b/damaged.txt"), "Ann \xFF");
  const std::string line = R"({"textGcsUri": "gs://b/ann.txt", "textSegmentAnnotations": )"
                           R"([{"startOffset": 4, "endOffset": 7, "displayName": "ACT"}]})";
  EXPECT_THAT(read(line), ElementsAre(Row{R"(["Ann","ran","."])", R"(["O","B-ACT","O"])"}));
  EXPECT_THAT([&] { read(R"({"textGcsUri": "gs://b/damaged.txt"})"); },
              ThrowsCode(Code::kBadData, "at byte 4"));
}

TEST_F(ManagedRowsTest, SentimentsAreClasses) {
  EXPECT_THAT(
      read(R"({"textContent": "bad", "sentimentAnnotation": {"sentimentMax": 4}})"
           "\n"
           R"({"textContent": "good", "sentimentAnnotation": {"sentiment": 4, "sentimentMax": 4}})"
           "\n"
           R"({"textContent": "who knows"})"
           "\n"),
      ElementsAre(Row{"bad", int64_t{0}}, Row{"good", int64_t{4}}, Row{"who knows", Cell()}));
}

TEST_F(ManagedRowsTest, AMalformedRowIsNamedByItsLine) {
  EXPECT_THAT([&] { read(kLine + R"({"classificationAnnotations": []})"); },
              ThrowsCode(Code::kBadData, "line 2"));
  EXPECT_THAT(
      [&] { read(R"({"textContent": "a", "classificationAnnotations": [{"name": "a"}]})"); },
      ThrowsCode(Code::kBadData, "line 1"));
  EXPECT_THAT([&] { read(R"({"textContent": "a", "sentimentAnnotation": {"sentiment": 0.5}})"); },
              ThrowsCode(Code::kBadData, "line 1"));
  EXPECT_THAT([&] { read(kSegments + R"({"textContent": "a", "textSegmentAnnotations": [{}]})"); },
              ThrowsCode(Code::kBadData, "line 3"));
}

// Otherwise the labels of the second row would be lost without a word.
TEST_F(ManagedRowsTest, SayWhatOfTheFileIsNotRead) {
  const std::string lines = R"({"textContent": "none"})"
                            "\n" +
                            kLine;
  const auto rows =
      make_managed_rows(make_jsonl_reader(std::make_unique<MemorySource>(as_bytes(lines))), bucket_,
                        objects_, LabelNeed::kIfPresent, std::nullopt);
  for (Row row; rows->next(row);) {
  }
  ASSERT_EQ(rows->findings().size(), 1u);
  EXPECT_THAT(rows->findings()[0].text, testing::HasSubstr("classificationAnnotations"));
}

TEST_F(ManagedRowsTest, LoadAsATable) {
  write_text(std::filesystem::path(scratch_ / "training-0.jsonl"), kLine);
  const LoadedTable loaded =
      load_table(*files_, {.role = "train", .path = scratch_ / "training-*.jsonl"});
  EXPECT_THAT(loaded.table->read(0).texts, ElementsAre("one"));
  EXPECT_THAT(loaded.table->labels.names(), ElementsAre("a"));
}

TEST_F(ManagedRowsTest, GiveTheTaskByTheirAnnotations) {
  write_text(std::filesystem::path(scratch_ / "training-0.jsonl"), kSegments);
  const LoadedTable loaded =
      load_table(*files_, {.role = "train", .path = scratch_ / "training-*.jsonl"});
  EXPECT_EQ(loaded.task, Task::kTokenClassification);
  EXPECT_THAT(loaded.table->read(1).texts, ElementsAre("She", "ran"));
  EXPECT_THAT(loaded.table->labels.names(), ElementsAre("B-PER", "O"));
}

}  // namespace
}  // namespace berth
