#include "storage/volume.h"

#include <gtest/gtest.h>

#include "storage/local_storage.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

TEST(VolumeTest, TellsTheFileSystemOfAPathThatDoesNotExistYet) {
  const ScratchDirectory scratch;
  const auto here = volume_of(Uri::parse(scratch.path().string()));
  const auto below = volume_of(Uri::parse(scratch / "a/b/c"));
  ASSERT_TRUE(here && below);
  EXPECT_EQ(here->id, below->id);
  EXPECT_GE(here->size_bytes, here->free_bytes);
}

TEST(VolumeTest, AnObjectStoreIsNoVolume) {
  EXPECT_FALSE(volume_of(Uri::parse("gs://bucket/runs/a")));
  EXPECT_EQ(bytes_below(Uri::parse("gs://bucket/runs/a")), 0u);
}

// /proc holds no bytes.
TEST(VolumeTest, AFileSystemWithoutASizeTellsNone) {
  const auto proc = volume_of(Uri::parse("/proc/self"));
  ASSERT_TRUE(proc);
  EXPECT_EQ(proc->size_bytes, 0u);
  EXPECT_FALSE(proc->is_certain);
}

TEST(VolumeTest, CountsTheFilesBelowADirectory) {
  const ScratchDirectory scratch;
  EXPECT_EQ(bytes_below(Uri::parse(scratch / "absent")), 0u);
  std::filesystem::create_directories(scratch / "a/b");
  write_text(scratch / "a/b/.model.abcdef.part", std::string(100'000, 'x'));
  EXPECT_GE(bytes_below(Uri::parse(scratch.path().string())), 100'000u);
}

TEST(UnfinishedFilesTest, ThoseOfALiveWriterStay) {
  const ScratchDirectory scratch;
  write_text(scratch / ".model.safetensors.abcdef.part", "left by a killed process");
  write_text(scratch / "model.safetensors", "complete");
  const auto sink = make_local_storage()->create(Uri::parse(scratch / "other"));
  remove_unfinished(scratch.path().string());
  remove_unfinished(scratch / "absent");
  EXPECT_FALSE(std::filesystem::exists(scratch / ".model.safetensors.abcdef.part"));
  EXPECT_TRUE(std::filesystem::exists(scratch / "model.safetensors"));
  sink->close();
  EXPECT_TRUE(std::filesystem::exists(scratch / "other"));
}

}  // namespace
}  // namespace berth
