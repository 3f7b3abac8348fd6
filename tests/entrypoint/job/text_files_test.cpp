#include "entrypoint/job/text_files.h"

#include <gmock/gmock.h>

#include "storage/local_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

class TextFilesTest : public testing::Test {
 protected:
  std::vector<std::string> rows(const std::string& path, const std::string& text_column = "") {
    TextFiles files(storage_, path, text_column, "");
    std::vector<std::string> rows;
    for (TextBlock block; files.next(block);) {
      for (size_t i = 0; i < block.rows(); ++i) rows.emplace_back(block.row(i));
    }
    return rows;
  }

  std::unique_ptr<Storage> local_ = make_local_storage();
  Storage& storage_ = *local_;
  ScratchDirectory scratch_;
};

TEST_F(TextFilesTest, ALineIsARow) {
  write_text(scratch_ / "a.txt", "\xEF\xBB\xBFone\r\n\ntwo \xFF\nthree");
  EXPECT_THAT(rows(scratch_ / "a.txt"), ElementsAre("one", "two \xFF", "three"));
}

TEST_F(TextFilesTest, AnEmptyFileHasNoRows) {
  write_text(scratch_ / "a.txt", "");
  EXPECT_THAT(rows(scratch_ / "a.txt"), ElementsAre());
  write_text(scratch_ / "a.txt", "\n\n\r\n");
  EXPECT_THAT(rows(scratch_ / "a.txt"), ElementsAre());
}

TEST_F(TextFilesTest, ManyLinesSpanSeveralBlocks) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "line " + std::to_string(i) + "\n";
  write_text(scratch_ / "a.txt", text);
  const std::vector<std::string> found = rows(scratch_ / "a.txt");
  ASSERT_EQ(found.size(), 100'000u);
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_EQ(found[static_cast<size_t>(i)], "line " + std::to_string(i));
  }
}

TEST_F(TextFilesTest, ALongLineIsSeveralRows) {
  std::string line;
  while (line.size() < 3'000'000) line += "some words ";
  write_text(scratch_ / "a.txt", line + "\nend\n");
  const std::vector<std::string> found = rows(scratch_ / "a.txt");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[0] + found[1] + found[2], line);
  EXPECT_EQ(found[3], "end");
}

TEST_F(TextFilesTest, TablesGiveTheirTextsAndSecondTexts) {
  write_text(scratch_ / "a.csv", "text,label,note\n\"one\ntwo\",1,a\n,0,b\nthree,1,\n");
  write_text(scratch_ / "b.jsonl", "{\"sentence1\": \"four\", \"sentence2\": \"five\"}\n");
  EXPECT_THAT(rows(scratch_ / "a.csv"), ElementsAre("one\ntwo", "three"));
  EXPECT_THAT(rows(scratch_ / "b.jsonl"), ElementsAre("four", "five"));
  EXPECT_THAT(rows(scratch_ / "a.csv", "note"), ElementsAre("a", "b"));
}

TEST_F(TextFilesTest, APatternOrADirectoryNamesSeveralFilesInOrder) {
  write_text(scratch_ / "b.txt", "two\n");
  write_text(scratch_ / "a.txt", "one\n");
  write_text(scratch_ / "c.csv", "text\nthree\n");
  write_text(scratch_ / "picture.png", "not text");
  EXPECT_THAT(rows(scratch_ / "*.txt"), ElementsAre("one", "two"));
  EXPECT_THAT(rows(scratch_.path().string()), ElementsAre("one", "two", "three"));
}

TEST_F(TextFilesTest, FilesWithoutTextsAreNamed) {
  write_text(scratch_ / "picture.png", "not text");
  write_text(scratch_ / "a.tfrecord", "ids");
  write_text(scratch_ / "bad.csv", "text,label\nonly one field\n");
  EXPECT_THAT([&] { rows(scratch_ / "picture.png"); },
              ThrowsCode(Code::kBadData, "neither a text file nor a table"));
  EXPECT_THAT([&] { rows(scratch_ / "a.tfrecord"); }, ThrowsCode(Code::kBadData, "token ids"));
  EXPECT_THAT([&] { rows(scratch_ / "bad.csv"); }, ThrowsCode(Code::kBadData, "bad.csv: line 2"));
  EXPECT_THAT([&] { rows(scratch_ / "absent.txt"); }, ThrowsCode(Code::kNotFound));
}

}  // namespace
}  // namespace berth
