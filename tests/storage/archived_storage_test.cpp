#include "storage/archived_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/expand.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/tar_bytes.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class ArchivedStorageTest : public testing::Test {
 protected:
  ArchivedStorageTest() {
    fs::create_directories(scratch_ / "b");
    write_text(scratch_ / "b/data.tar", TarBytes()
                                            .file("a.csv", "text\none\n")
                                            .file("part/b.csv", "text\ntwo\n")
                                            .file("README.md", "about")
                                            .end());
  }
  std::string text(const std::string& uri) {
    return read_text(*storage_, Uri::parse(uri)).value_or("absent");
  }
  std::vector<std::string> names(const std::string& uri) {
    std::vector<std::string> result;
    for (const Stat& stat : storage_->list(Uri::parse(uri))) result.push_back(stat.name);
    return result;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> files_ = make_local_storage();
  BucketOfFiles bucket_{*files_, scratch_.path().string()};
  std::unique_ptr<Storage> storage_ =
      make_archived_storage(std::make_unique<BorrowedStorage>(bucket_));
};

TEST_F(ArchivedStorageTest, ReadsInsideAnArchive) {
  EXPECT_EQ(text("gs://b/data.tar/part/b.csv"), "text\ntwo\n");
  const auto stat = storage_->stat(Uri::parse("gs://b/data.tar/a.csv"));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name, "gs://b/data.tar/a.csv");
  EXPECT_EQ(stat->size, 9u);
}

TEST_F(ArchivedStorageTest, AnAbsentFileInAnArchiveIsAbsent) {
  EXPECT_EQ(text("gs://b/data.tar/c.csv"), "absent");
  EXPECT_EQ(storage_->stat(Uri::parse("gs://b/data.tar/part")), std::nullopt);
  EXPECT_THAT([&] { storage_->open(Uri::parse("gs://b/data.tar/c.csv"), {}); },
              ThrowsCode(Code::kNotFound, "gs://b/data.tar/c.csv"));
  EXPECT_EQ(text("gs://b/other.tar/c.csv"), "absent");
}

TEST_F(ArchivedStorageTest, ListsInsideAnArchive) {
  EXPECT_THAT(names("gs://b/data.tar"),
              ElementsAre("gs://b/data.tar/README.md", "gs://b/data.tar/a.csv",
                          "gs://b/data.tar/part/b.csv"));
  EXPECT_THAT(names("gs://b/data.tar/part"), ElementsAre("gs://b/data.tar/part/b.csv"));
  EXPECT_THAT(names("gs://b/data.tar/nothing"), ElementsAre());
}

TEST_F(ArchivedStorageTest, UnpacksOnce) {
  names("gs://b/data.tar");
  text("gs://b/data.tar/a.csv");
  text("gs://b/data.tar/part/b.csv");
  EXPECT_EQ(bucket_.opens, 1);
}

TEST_F(ArchivedStorageTest, TheArchiveItselfIsAnObject) {
  EXPECT_TRUE(text("gs://b/data.tar").starts_with("a.csv"));
  EXPECT_EQ(storage_->stat(Uri::parse("gs://b/data.tar"))->name, "gs://b/data.tar");
}

TEST_F(ArchivedStorageTest, IsDataByItself) {
  const auto is_csv = [](std::string_view name) { return name.ends_with(".csv"); };
  EXPECT_THAT(
      expand(*storage_, Uri::parse("gs://b/data.tar"), is_csv),
      ElementsAre(Uri::parse("gs://b/data.tar/a.csv"), Uri::parse("gs://b/data.tar/part/b.csv")));
  EXPECT_THAT(expand(*storage_, Uri::parse("gs://b/data.tar/*.csv"), is_csv),
              ElementsAre(Uri::parse("gs://b/data.tar/a.csv")));
  EXPECT_THAT([&] { expand(*storage_, Uri::parse("gs://b/data.tar/A.csv"), is_csv); },
              ThrowsCode(Code::kNotFound, "did you mean gs://b/data.tar/a.csv?"));
  write_text(scratch_ / "b/none.tar", TarBytes().file("README.md", "about").end());
  EXPECT_THAT([&] { expand(*storage_, Uri::parse("gs://b/none.tar"), is_csv); },
              ThrowsCode(Code::kBadData, "is an archive without data files"));
}

TEST_F(ArchivedStorageTest, ADirectoryMayBeNamedAsAnArchive) {
  fs::create_directories(scratch_ / "b/folder.zip");
  write_text(scratch_ / "b/folder.zip/a.csv", "plain");
  EXPECT_EQ(text("gs://b/folder.zip/a.csv"), "plain");
  EXPECT_THAT(names("gs://b/folder.zip"), ElementsAre("gs://b/folder.zip/a.csv"));
  const auto local = make_archived_storage(make_local_storage());
  EXPECT_EQ(read_text(*local, Uri::parse(scratch_ / "b/folder.zip/a.csv")), "plain");
  write_text(*local, Uri::parse(scratch_ / "b/folder.zip/new.csv"), "new");
  EXPECT_EQ(read_text(scratch_ / "b/folder.zip/new.csv"), "new");
}

TEST_F(ArchivedStorageTest, UnpackedFilesAreMapped) {
  const auto source = storage_->open(Uri::parse("gs://b/data.tar/a.csv"), {});
  const auto mapped = source->map();
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(as_text(*mapped->view()), "text\none\n");
}

TEST_F(ArchivedStorageTest, ADamagedArchiveIsNamedAndReadAgain) {
  const std::string whole = read_text(scratch_ / "b/data.tar");
  write_text(scratch_ / "b/data.tar", whole.substr(0, 600));
  EXPECT_THAT([&] { text("gs://b/data.tar/a.csv"); },
              ThrowsCode(Code::kCorrupt, "gs://b/data.tar"));
  write_text(scratch_ / "b/data.tar", whole);
  EXPECT_EQ(text("gs://b/data.tar/a.csv"), "text\none\n");
}

TEST_F(ArchivedStorageTest, IsReadToItsEnd) {
  write_text(scratch_ / "b/data.tar",
             read_text(scratch_ / "b/data.tar") + std::string(500000, '\0'));
  text("gs://b/data.tar/a.csv");
  EXPECT_EQ(bucket_.read_bytes, fs::file_size(scratch_ / "b/data.tar"));
}

TEST_F(ArchivedStorageTest, NoPathLeadsOutOfIt) {
  EXPECT_THAT([&] { text("gs://b/data.tar/../../../etc/passwd"); }, ThrowsCode(Code::kUsage));
}

TEST_F(ArchivedStorageTest, LimitsHold) {
  const auto small =
      make_archived_storage(std::make_unique<BorrowedStorage>(bucket_), {.entries = 2});
  EXPECT_THAT([&] { small->list(Uri::parse("gs://b/data.tar")); },
              ThrowsCode(Code::kCorrupt, "more than 2 entries"));
}

TEST_F(ArchivedStorageTest, LeavesNoTemporaryFiles) {
  fs::create_directories(scratch_ / "tmp");
  ::setenv("TMPDIR", (scratch_ / "tmp").c_str(), 1);
  text("gs://b/data.tar/a.csv");
  EXPECT_FALSE(fs::is_empty(scratch_ / "tmp"));
  storage_.reset();
  EXPECT_TRUE(fs::is_empty(scratch_ / "tmp"));
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace berth
