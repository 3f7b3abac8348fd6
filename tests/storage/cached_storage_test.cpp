#include "storage/cached_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "storage/base/checksum.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

// A disk that becomes full or refuses every write.
class FailingDisk final : public BorrowedStorage {
 public:
  enum class When { kNever, kCreate, kWrite, kClose };
  using BorrowedStorage::BorrowedStorage;

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    fail_at(When::kCreate);
    return std::make_unique<Sink>(*this, BorrowedStorage::create(uri, options));
  }

  When when = When::kNever;

 private:
  class Sink final : public ByteSink {
   public:
    Sink(FailingDisk& disk, std::unique_ptr<ByteSink> inner)
        : disk_(disk), inner_(std::move(inner)) {}
    void write(Bytes bytes) override {
      disk_.fail_at(When::kWrite);
      inner_->write(bytes);
    }
    Stat close() override {
      disk_.fail_at(When::kClose);
      return inner_->close();
    }

   private:
    FailingDisk& disk_;
    std::unique_ptr<ByteSink> inner_;
  };

  void fail_at(When now) const {
    if (now == when) throw Error(Code::kNoSpace, "the disk is full", "the cache");
  }
};

class CachedStorageTest : public testing::Test {
 protected:
  CachedStorageTest() {
    fs::create_directories(scratch_ / "b");
    put("some bytes");
    bucket_.describe = [this](Stat& stat) { describe(stat); };
  }
  void put(const std::string& text) { write_text(scratch_ / "b/o.csv", text); }
  void describe(Stat& stat) const {
    if (has_crc_) stat.crc32c = crc32c(as_bytes(read_text(scratch_ / "b/o.csv")));
    stat.content_encoding = encoding_;
  }
  // Reads the object as a newly started process does.
  std::string read(const ReadOptions& options = {}) {
    const auto storage = start();
    return std::string(as_text(read_all(*storage->open(uri_, options), 1 << 20, "o")));
  }
  std::unique_ptr<Storage> start() {
    return make_cached_storage(std::make_unique<BorrowedStorage>(bucket_), disk_,
                               scratch_ / "cache");
  }
  std::vector<fs::path> cached() const {
    std::vector<fs::path> found;
    if (!fs::exists(scratch_ / "cache")) return found;
    for (const auto& entry : fs::directory_iterator(scratch_ / "cache")) found.push_back(entry);
    return found;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> files_ = make_local_storage();
  BucketOfFiles bucket_{*files_, scratch_.path().string()};
  FailingDisk disk_{*files_};
  const Uri uri_ = Uri::parse("gs://b/o.csv");
  bool has_crc_ = true;
  std::string encoding_;
};

TEST_F(CachedStorageTest, FetchesOnce) {
  EXPECT_EQ(read(), "some bytes");
  EXPECT_EQ(read(), "some bytes");
  EXPECT_EQ(bucket_.opens, 1);
  ASSERT_EQ(cached().size(), 1u);
  EXPECT_THAT(cached()[0].filename().string(), testing::StartsWith("b-o.csv."));
}

TEST_F(CachedStorageTest, ANewGenerationReplacesTheOldOne) {
  read();
  put("other bytes");
  EXPECT_EQ(read(), "other bytes");
  EXPECT_EQ(cached().size(), 1u);
  EXPECT_EQ(bucket_.opens, 2);
}

TEST_F(CachedStorageTest, OtherObjectsStay) {
  read();
  write_text(scratch_ / "b/o+csv", "alike");
  has_crc_ = false;
  EXPECT_EQ(read_text(*start(), Uri::parse("gs://b/o+csv")), "alike");
  EXPECT_EQ(cached().size(), 3u);  // two copies, and the checksum of the second one
}

TEST_F(CachedStorageTest, DamageIsNamedAndFetchedAgain) {
  for (const bool has_crc : {true, false}) {
    has_crc_ = has_crc;
    for (const char* damage : {"some bytez", "some byte", "some bytes and more", ""}) {
      read();
      std::vector<fs::path> copies = cached();
      std::erase_if(copies, [](const fs::path& file) { return file.extension() == ".sum"; });
      ASSERT_EQ(copies.size(), 1u);
      write_text(copies[0], damage);
      const CapturedLog log;
      EXPECT_EQ(read(), "some bytes") << damage;
      EXPECT_THAT(log.warnings(),
                  testing::AllOf(HasSubstr("gs://b/o.csv"), HasSubstr(copies[0].string())));
      EXPECT_EQ(read_text(copies[0]), "some bytes") << damage;
    }
  }
}

TEST_F(CachedStorageTest, ADamagedCopyIsRemovedWhereNoneCanBeWritten) {
  read();
  write_text(cached().at(0), "some bytez");
  disk_.when = FailingDisk::When::kCreate;
  EXPECT_EQ(read(), "some bytes");
  EXPECT_TRUE(cached().empty());
}

TEST_F(CachedStorageTest, WithoutACrcTheGenerationDecides) {
  has_crc_ = false;
  read();
  EXPECT_EQ(read(), "some bytes");
  EXPECT_EQ(bucket_.opens, 1);
  put("other bytes");
  EXPECT_EQ(read(), "other bytes");
}

TEST_F(CachedStorageTest, WithoutCrcAndGenerationNothingIsKept) {
  bucket_.describe = [](Stat& stat) { stat.generation = 0; };
  EXPECT_EQ(read(), "some bytes");
  EXPECT_TRUE(cached().empty());
}

// The stored bytes of an encoded object are compressed, and only `inner` sees them. The cache keeps
// the bytes that are read.
TEST_F(CachedStorageTest, EncodedObjectsAreKeptDecoded) {
  encoding_ = "gzip";
  bucket_.describe = [this](Stat& stat) {
    describe(stat);
    stat.size = 7;
    stat.crc32c = 1;
  };
  EXPECT_EQ(read(), "some bytes");
  EXPECT_EQ(read(), "some bytes");
  EXPECT_EQ(bucket_.opens, 1);
  ASSERT_EQ(cached().size(), 2u);
  int opens = 1;
  for (const size_t file : {0, 1}) {
    for (const char* damage : {"some bytez", "10 00000000", "10", ""}) {
      write_text(cached().at(file), damage);
      EXPECT_EQ(read(), "some bytes") << damage;
      EXPECT_EQ(bucket_.opens, ++opens) << damage;
    }
  }
  put("other bytes");
  EXPECT_EQ(read(), "other bytes");
  EXPECT_EQ(cached().size(), 2u);
}

TEST_F(CachedStorageTest, RangesPassThrough) {
  EXPECT_EQ(read({.offset = 5, .length = {}, .generation = {}}), "bytes");
  EXPECT_EQ(read({.offset = 0, .length = 4, .generation = {}}), "some");
  EXPECT_TRUE(cached().empty());
}

TEST_F(CachedStorageTest, AGenerationThatIsGoneIsNotFound) {
  const Generation before = bucket_.stat(uri_)->generation;
  EXPECT_EQ(read({.offset = 0, .length = {}, .generation = before}), "some bytes");
  put("other bytes");
  EXPECT_THAT([&] { read({.offset = 0, .length = {}, .generation = before}); },
              ThrowsCode(Code::kNotFound));
}

TEST_F(CachedStorageTest, AbsentIsNotFound) {
  fs::remove(scratch_ / "b/o.csv");
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kNotFound));
}

TEST_F(CachedStorageTest, CachedFilesAreMapped) {
  EXPECT_NE(start()->open(uri_, {})->map(), nullptr);
  EXPECT_NE(start()->open(uri_, {})->map(), nullptr);
  EXPECT_EQ(as_text(WholeFile(*start(), uri_).bytes()), "some bytes");
}

TEST_F(CachedStorageTest, WithoutAWritableDiskItWarnsOnceAndReadsTheObject) {
  for (const auto when :
       {FailingDisk::When::kCreate, FailingDisk::When::kWrite, FailingDisk::When::kClose}) {
    disk_.when = when;
    const auto storage = start();
    const CapturedLog log;
    EXPECT_EQ(read_text(*storage, uri_), "some bytes");
    EXPECT_EQ(read_text(*storage, uri_), "some bytes");
    EXPECT_EQ(log.warnings(), "the cache is not used: the cache: the disk is full\n");
    EXPECT_TRUE(cached().empty());
  }
}

TEST_F(CachedStorageTest, AReadOnlyCacheIsRead) {
  read();
  disk_.when = FailingDisk::When::kCreate;
  EXPECT_EQ(read(), "some bytes");
  EXPECT_EQ(bucket_.opens, 1);
}

TEST_F(CachedStorageTest, AnIncompleteObjectIsNotKept) {
  bucket_.describe = [](Stat& stat) { stat.crc32c = 1; };
  EXPECT_THAT([&] { read(); }, ThrowsCode(Code::kUnavailable, "gs://b/o.csv"));
  EXPECT_TRUE(cached().empty());
}

TEST_F(CachedStorageTest, ManyProcessesShareIt) {
  put(std::string(300000, 'x'));
  std::vector<std::jthread> processes;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i) {
    processes.emplace_back([&] { right += read().size() == 300000 ? 1 : 0; });
  }
  processes.clear();
  EXPECT_EQ(right, 8);
  EXPECT_EQ(cached().size(), 1u);
}

}  // namespace
}  // namespace berth
