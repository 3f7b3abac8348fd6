#include "storage/remembered_lookups.h"

#include <gtest/gtest.h>

#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

TEST(RememberedLookups, ARemoteDirectoryIsListedOnce) {
  ScratchDirectory scratch;
  const auto files = make_local_storage();
  BucketOfFiles bucket(*files, scratch.path().string());
  RememberedLookups storage(bucket);
  write_text(*files, Uri::parse(scratch / "b/d/a.csv"), "a");
  const Uri directory = Uri::parse("gs://b/d");
  const std::vector<Stat> first = storage.list(directory, SIZE_MAX);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].name, "gs://b/d/a.csv");
  EXPECT_EQ(storage.list(directory, SIZE_MAX).at(0).name, first[0].name);
  EXPECT_EQ(bucket.lists, 1);
  EXPECT_EQ(storage.list(Uri::parse("gs://b/other"), SIZE_MAX).size(), 0u);
  storage.list(directory, 1);
  EXPECT_EQ(bucket.lists, 3);
}

// Counts which versions are opened by what stat() said.
class KnownVersions final : public BorrowedStorage {
 public:
  using BorrowedStorage::BorrowedStorage;
  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    known_bytes += options.known == nullptr ? 0 : options.known->size;
    return BorrowedStorage::open(uri, options);
  }
  uint64_t known_bytes = 0;
};

TEST(RememberedLookups, ARemoteObjectIsLookedUpOnce) {
  ScratchDirectory scratch;
  const auto files = make_local_storage();
  BucketOfFiles bucket(*files, scratch.path().string());
  KnownVersions versions(bucket);
  RememberedLookups storage(versions);
  const Uri object = Uri::parse("gs://b/a.csv");
  EXPECT_FALSE(storage.stat(object));
  write_text(*files, Uri::parse(scratch / "b/a.csv"), "text");
  EXPECT_EQ(storage.stat(object)->size, 4u);
  EXPECT_EQ(storage.stat(object)->size, 4u);
  EXPECT_EQ(bucket.stats, 2);
  storage.open(object, {});
  EXPECT_EQ(versions.known_bytes, 4u);
}

TEST(RememberedLookups, ALocalDirectoryIsListedEachTime) {
  ScratchDirectory scratch;
  const auto files = make_local_storage();
  RememberedLookups storage(*files);
  EXPECT_EQ(storage.list(Uri::parse(scratch.path().string()), SIZE_MAX).size(), 0u);
  EXPECT_FALSE(storage.stat(Uri::parse(scratch / "a.csv")));
  write_text(storage, Uri::parse(scratch / "a.csv"), "a");
  EXPECT_EQ(storage.stat(Uri::parse(scratch / "a.csv"))->size, 1u);
  write_text(storage, Uri::parse(scratch / "a.csv"), "ab");
  EXPECT_EQ(storage.stat(Uri::parse(scratch / "a.csv"))->size, 2u);
  EXPECT_EQ(storage.list(Uri::parse(scratch.path().string()), SIZE_MAX).size(), 1u);
}

}  // namespace
}  // namespace berth
