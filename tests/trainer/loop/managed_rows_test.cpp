#include "trainer/loop/managed_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/formats/row_readers.h"
#include "storage/local_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "trainer/loop/load_data.h"

namespace berth {
namespace {

using testing::ElementsAre;

class ManagedRowsTest : public testing::Test {
 protected:
  std::vector<Row> read(const std::string& lines) {
    auto rows = make_jsonl_reader(std::make_unique<MemorySource>(as_bytes(lines)));
    EXPECT_TRUE(names_managed_rows(rows->columns()));
    const auto managed = make_managed_rows(std::move(rows), bucket_);
    std::vector<Row> read;
    for (Row row; managed->next(row);) read.push_back(row);
    return read;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> files_ = make_local_storage();
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
  for (int i = 0; i < 40; ++i) {  // more than are read at once
    const std::string name = std::to_string(i) + ".txt";
    write_text(std::filesystem::path(scratch_ / ("b/" + name)), "text of " + name);
    lines += R"({"textContent": "gs://b/)" + name + "\"}\n";
  }
  const std::vector<Row> rows = read(lines);
  ASSERT_EQ(rows.size(), 40u);
  EXPECT_THAT(rows[39], ElementsAre(Cell("text of 39.txt")));
  EXPECT_THAT([&] { read(R"({"textGcsUri": "gs://b/none.txt"})"); },
              ThrowsCode(Code::kNotFound, "none.txt"));
}

TEST_F(ManagedRowsTest, WhatIsNoneIsNamedByItsLine) {
  EXPECT_THAT([&] { read(kLine + R"({"classificationAnnotations": []})"); },
              ThrowsCode(Code::kBadData, "line 2"));
  EXPECT_THAT(
      [&] { read(R"({"textContent": "a", "classificationAnnotations": [{"name": "a"}]})"); },
      ThrowsCode(Code::kBadData, "line 1"));
}

TEST_F(ManagedRowsTest, LoadAsAnyTable) {
  write_text(std::filesystem::path(scratch_ / "training-0.jsonl"), kLine);
  const LoadedTable loaded =
      load_table(*files_, {.role = "train", .path = scratch_ / "training-*.jsonl"});
  EXPECT_THAT(loaded.table->read(0).texts, ElementsAre("one"));
  EXPECT_THAT(loaded.table->labels.names(), ElementsAre("a"));
}

}  // namespace
}  // namespace berth
