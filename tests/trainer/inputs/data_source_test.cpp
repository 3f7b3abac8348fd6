#include "trainer/inputs/data_source.h"

#include <gmock/gmock.h>

#include <thread>

#include "storage/archived_storage.h"
#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/gzipped.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/tar_bytes.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

class DataSourceTest : public testing::Test {
 protected:
  void put(const std::string& name, std::string_view text = "text,label\na,b\n") {
    write_text(*files_, Uri::parse(scratch_ / name), text);
  }
  static std::vector<std::string> names(const std::vector<Uri>& files) {
    std::vector<std::string> names;
    for (const Uri& file : files) names.push_back(file.file_name());
    return names;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> files_ = make_local_storage();
  BucketOfFiles bucket_{*files_, scratch_.path().string()};
};

TEST_F(DataSourceTest, AFolderIsListedOnceForAllRolesAndChecks) {
  put("b/d/train.csv");
  put("b/d/test.csv");
  const DataPaths paths(bucket_);
  ASSERT_NE(paths.at("gs://b/d").splits(), nullptr);
  EXPECT_THAT(names(paths.at("gs://b/d").files("train")), ElementsAre("train.csv"));
  EXPECT_THAT(names(paths.at("gs://b/d").files("eval")), ElementsAre("test.csv"));
  EXPECT_EQ(bucket_.lists, 1);
}

TEST_F(DataSourceTest, AFolderWithoutSplitsIsListedOnce) {
  put("b/d/a.csv");
  put("b/d/b.csv");
  const DataPaths paths(bucket_);
  EXPECT_EQ(paths.at("gs://b/d").splits(), nullptr);
  EXPECT_THAT(names(paths.at("gs://b/d").files("train")), ElementsAre("a.csv", "b.csv"));
  EXPECT_THAT(names(paths.at("gs://b/d").files("train")), ElementsAre("a.csv", "b.csv"));
  EXPECT_EQ(bucket_.lists, 1);
  EXPECT_EQ(bucket_.stats, 1);
}

TEST_F(DataSourceTest, APatternIsListedOnce) {
  put("b/a.csv");
  const DataSource source(bucket_, "gs://b/*.csv");
  EXPECT_THAT(names(source.files("train")), ElementsAre("a.csv"));
  EXPECT_THAT(names(source.files("train")), ElementsAre("a.csv"));
  EXPECT_EQ(bucket_.lists, 1);
}

// Counts the objects that are opened with their Stat.
class KnownObjects final : public BorrowedStorage {
 public:
  using BorrowedStorage::BorrowedStorage;
  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    known += options.known == nullptr ? 0 : 1;
    return BorrowedStorage::open(uri, options);
  }
  int known = 0;
};

TEST_F(DataSourceTest, AnObjectIsLookedUpOnce) {
  put("b/a.csv");
  KnownObjects storage(bucket_);
  const DataSource source(storage, "gs://b/a.csv");
  EXPECT_THAT(names(source.files("train")), ElementsAre("a.csv"));
  EXPECT_THAT(names(source.files("eval")), ElementsAre("a.csv"));
  EXPECT_EQ(bucket_.stats, 1);
  source.open(source.uri());
  EXPECT_EQ(storage.known, 1);
}

TEST_F(DataSourceTest, AFailureIsAskedAgain) {
  const DataSource source(bucket_, "gs://b/a.csv");
  EXPECT_THAT([&] { source.files("train"); }, ThrowsCode(Code::kNotFound));
  EXPECT_THAT([&] { source.files("train"); }, ThrowsCode(Code::kNotFound));
}

TEST_F(DataSourceTest, AnArchiveIsFetchedWhenItsFilesAreAskedFor) {
  put("b/data.tar", TarBytes().file("a.csv", "text\nx\n").end());
  const auto storage = make_archived_storage(std::make_unique<BorrowedStorage>(bucket_));
  const DataSource source(*storage, "gs://b/data.tar");
  EXPECT_TRUE(source.is_archived());
  EXPECT_EQ(bucket_.opens, 0);
  EXPECT_THAT(names(source.files("train")), ElementsAre("a.csv"));
  EXPECT_EQ(bucket_.opens, 1);
}

TEST_F(DataSourceTest, SeveralThreadsMayAsk) {
  put("b/d/train.csv");
  put("b/d/test.csv");
  const DataPaths paths(bucket_);
  std::vector<std::jthread> threads;
  for (const char* role : {"train", "eval", "predict", "train"}) {
    threads.emplace_back([&, role] { paths.at("gs://b/d").files(role); });
  }
  threads.clear();
  EXPECT_EQ(bucket_.lists, 1);
}

class TextRowsTest : public DataSourceTest {
 protected:
  static bool is_any(std::string_view) { return true; }
  // "1:a+b": the number of the row, its text and its second text.
  std::vector<std::string> read(const std::string& path, TextRules rules = {}) {
    const DataSource source(*files_, scratch_ / path);
    TextRows rows(source, source.text_files(is_any), std::move(rules));
    std::vector<std::string> found;
    while (rows.next()) {
      found.push_back(cat(rows.number(), ":", std::get<std::string>(rows.text())));
      if (const Cell* const second = rows.second_text()) {
        found.back() += "+" + std::get<std::string>(*second);
      }
    }
    skipped_ = rows.skipped();
    return found;
  }
  int64_t skipped_ = 0;
};

TEST_F(TextRowsTest, LinesAndTablesFollowOneAnother) {
  put("d/a.txt", "one\n\ntwo\n");
  put("d/b.jsonl", "{\"sentence1\": \"three\", \"sentence2\": \"four\"}\n");
  put("d/c.md.gz", gzipped("five\n"));
  EXPECT_THAT(read("d"), ElementsAre("1:one", "3:two", "1:three+four", "1:five"));
}

TEST_F(TextRowsTest, MalformedRowsAreLeftOutUpToALimit) {
  put("a.jsonl", "{\"text\": \"one\"}\n{\n{\"text\": \"two\"}\n{\n");
  EXPECT_THAT(read("a.jsonl", {.skip_bad_rows = 2}), ElementsAre("1:one", "3:two"));
  EXPECT_EQ(skipped_, 2);
  EXPECT_THAT([&] { read("a.jsonl", {.skip_bad_rows = 1}); },
              ThrowsCode(Code::kBadData, "a.jsonl: line 4"));
}

// As in a training, which looks at the bytes, too.
TEST_F(TextRowsTest, CompressedFilesMayHaveAnyName) {
  put("d/a.txt", gzipped("one\n"));
  put("d/b.jsonl", gzipped("{\"text\": \"two\"}\n"));
  put("d/c", gzipped("three\n"));
  EXPECT_THAT(read("d"), ElementsAre("1:one", "1:two", "1:three"));
  put("pointer.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
  EXPECT_THAT([&] { read("pointer.txt"); }, ThrowsCode(Code::kBadData, "git lfs pull"));
}

TEST_F(TextRowsTest, RecordsOfTokensAreRefused) {
  put("a.tfrecord", "ids");
  EXPECT_THAT([&] { read("a.tfrecord"); }, ThrowsCode(Code::kBadData, "token ids"));
}

TEST_F(DataSourceTest, TheChecksumOfStoredBytesMayCoverABeginning) {
  put("a.csv", "abcdef");
  const Uri file = Uri::parse(scratch_ / "a.csv");
  Checksum all, beginning;
  all.add(as_bytes(std::string_view("abcdef")));
  beginning.add(as_bytes(std::string_view("abc")));
  EXPECT_EQ(stored_checksum(*files_, file), all);
  EXPECT_EQ(stored_checksum(*files_, file, 3), beginning);
}

}  // namespace
}  // namespace berth
