#include "storage/remembered_lists.h"

#include <gtest/gtest.h>

#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

TEST(RememberedLists, ARemoteDirectoryIsListedOnce) {
  ScratchDirectory scratch;
  const auto files = make_local_storage();
  BucketOfFiles bucket(*files, scratch.path().string());
  RememberedLists storage(bucket);
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

TEST(RememberedLists, ALocalDirectoryIsListedEachTime) {
  ScratchDirectory scratch;
  const auto files = make_local_storage();
  RememberedLists storage(*files);
  EXPECT_EQ(storage.list(Uri::parse(scratch.path().string()), SIZE_MAX).size(), 0u);
  write_text(storage, Uri::parse(scratch / "a.csv"), "a");
  EXPECT_EQ(storage.list(Uri::parse(scratch.path().string()), SIZE_MAX).size(), 1u);
}

}  // namespace
}  // namespace berth
