#include "entrypoint/modes/corpus_texts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/local_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

class Texts : public testing::Test {
 protected:
  void write(const std::string& name, std::string_view text) {
    std::filesystem::create_directories((scratch_.path() / name).parent_path());
    write_text(scratch_.path() / name, text);
  }
  std::vector<std::string> read(const std::string& path) {
    data_.train_data_file = scratch_ / path;
    CorpusTexts texts(*storage_, data_);
    std::vector<std::string> all;
    places_.clear();
    for (DocumentBatch batch; texts.read(batch);) {
      for (size_t i = 0; i < batch.size; ++i) {
        all.push_back(batch.texts[i]);
        places_.push_back(texts.where(batch.places[i]).substr(scratch_.path().string().size() + 1));
      }
    }
    skipped_ = texts.skipped_rows();
    return all;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  DataOptions data_;
  std::vector<std::string> places_;
  int64_t skipped_ = 0;
};

TEST_F(Texts, ALineOfATextFileIsADocument) {
  write("a.txt", "one\n\n  \ntwo\r\nthree");
  EXPECT_THAT(read("a.txt"), ElementsAre("one", "two", "three"));
  EXPECT_THAT(places_, ElementsAre("a.txt, row 1", "a.txt, row 4", "a.txt, row 5"));
}

TEST_F(Texts, ALongLineIsSeveralDocuments) {
  std::string line;
  while (line.size() < 2'000'000) line += "some words ";
  write("a.txt", "one\n" + line + "\ntwo");
  const std::vector<std::string> found = read("a.txt");
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[1] + found[2], line);
  EXPECT_THAT(places_, ElementsAre("a.txt, row 1", "a.txt, row 2", "a.txt, row 2", "a.txt, row 3"));
}

TEST_F(Texts, ARowOfATableIsADocument) {
  write("a.jsonl", "{\"id\":1,\"text\":\"one\\nline\"}\n{\"id\":2}\n{\"id\":3,\"text\":\"two\"}\n");
  EXPECT_THAT(read("a.jsonl"), ElementsAre("one\nline", "two"));
  EXPECT_THAT(places_, ElementsAre("a.jsonl, row 1", "a.jsonl, row 3"));
}

TEST_F(Texts, TwoColumnsMakeOneDocument) {
  write("a.csv", "title,body,label\nT1,B1,x\n,B2,x\nT3,,x\n,,x\n");
  data_.text_column = "title";
  data_.text_pair_column = "body";
  EXPECT_THAT(read("a.csv"), ElementsAre("T1\nB1", "B2", "T3"));
  data_.text_column = "nothing";
  EXPECT_THAT([&] { read("a.csv"); }, ThrowsCode(Code::kBadData, "a.csv: there is no column"));
}

TEST_F(Texts, FilesFollowEachOther) {
  write("dir/b.txt", "three\n");
  write("dir/a.jsonl", "{\"text\":\"one\"}\n{\"text\":\"two\"}\n");
  write("dir/README.md", "not a document");
  EXPECT_THAT(read("dir"), ElementsAre("one", "two", "three"));
  EXPECT_THAT(read("dir/*.txt"), ElementsAre("three"));
  EXPECT_THAT(read("dir/README.md"), ElementsAre("not a document"));
}

TEST_F(Texts, BadRowsAreLeftOutAsOftenAsAllowed) {
  write("a.txt", "one\n\xFF\ntwo\n\xFE\n");
  EXPECT_THAT([&] { read("a.txt"); }, ThrowsCode(Code::kBadData, "line 2"));
  data_.skip_bad_rows = 2;
  EXPECT_THAT(read("a.txt"), ElementsAre("one", "two"));
  EXPECT_EQ(skipped_, 2);
}

TEST_F(Texts, OfTokenIdsAreRefused) {
  write("a.tf_record", "");
  EXPECT_THAT([&] { read("a.tf_record"); }, ThrowsCode(Code::kBadData, "TFRecords"));
}

TEST_F(Texts, ComeInBatchesOfBoundedSize) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += "some words\n";
  write("a.txt", text);
  data_.train_data_file = scratch_ / "a.txt";
  CorpusTexts texts(*storage_, data_);
  DocumentBatch batch;
  size_t documents = 0;
  while (texts.read(batch)) {
    EXPECT_LE(batch.size, CorpusTexts::kBatchDocuments);
    documents += batch.size;
  }
  EXPECT_EQ(documents, 40'000u);
  EXPECT_FALSE(texts.read(batch));
}

}  // namespace
}  // namespace berth
