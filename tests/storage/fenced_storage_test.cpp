#include "storage/fenced_storage.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/remote_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// A job's directory whose lease is never renewed and can be taken after 0.2 s.
class FencedStorageTest : public testing::Test {
 protected:
  std::unique_ptr<FencedStorage::Fence> hold() {
    return std::make_unique<FencedStorage::Fence>(
        fenced_, Uri::parse("gs://bucket/job"), "lease.json", LeaseHolder{.name = "host.1"}, stop_,
        LeaseTimes{.lasts_s = 0.2, .renewed_every_s = 100, .margin_s = 0.1});
  }
  // Another process takes the lease, after this one did nothing for long.
  void lose() {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    write_text(*remote_.storage, remote_.at("job/lease.json"), R"({"holder": "host.2"})");
  }
  bool exists(const std::string& name) {
    return remote_.storage->stat(remote_.at(name)).has_value();
  }

  RemoteStorage remote_;
  FencedStorage fenced_{*remote_.storage};
  std::atomic<bool> stop_ = false;
};

TEST_F(FencedStorageTest, WritesWhileTheLeaseIsHeld) {
  const auto fence = hold();
  write_text(fenced_, remote_.at("job/a"), "1");
  EXPECT_EQ(read_text(fenced_, remote_.at("job/a")), "1");
  fenced_.remove(remote_.at("job/a"), {});
  EXPECT_FALSE(exists("job/a"));
}

TEST_F(FencedStorageTest, WritesAndRemovesNothingOnceItIsLost) {
  const auto fence = hold();
  write_text(fenced_, remote_.at("job/a"), "1");
  lose();
  EXPECT_THAT([&] { write_text(fenced_, remote_.at("job/b"), "2"); }, ThrowsCode(Code::kInUse));
  EXPECT_THAT([&] { fenced_.remove(remote_.at("job/a"), {}); }, ThrowsCode(Code::kInUse));
  EXPECT_TRUE(exists("job/a"));
  EXPECT_FALSE(exists("job/b"));
}

TEST_F(FencedStorageTest, WritesNothingOnceItGaveItsLeasesBack) {
  const auto fence = hold();
  ASSERT_TRUE(exists("job/lease.json"));
  fenced_.give_back_leases();
  EXPECT_FALSE(exists("job/lease.json"));
  EXPECT_THAT([&] { write_text(fenced_, remote_.at("job/a"), "1"); }, ThrowsCode(Code::kInUse));
  EXPECT_FALSE(exists("job/a"));
}

TEST_F(FencedStorageTest, DoesNotPublishWhatWasBegunBefore) {
  const auto fence = hold();
  const auto sink = fenced_.create(remote_.at("job/a"), {});
  sink->write(as_bytes("1"));
  lose();
  EXPECT_THAT([&] { sink->close(); }, ThrowsCode(Code::kInUse));
  EXPECT_FALSE(exists("job/a"));
}

TEST_F(FencedStorageTest, LeavesOtherDirectoriesAlone) {
  const auto fence = hold();
  lose();
  write_text(fenced_, remote_.at("job2/a"), "1");
  write_text(fenced_, remote_.at("jobs"), "1");
  EXPECT_TRUE(exists("job2/a") && exists("jobs"));
}

TEST_F(FencedStorageTest, IsOpenAgainWhenTheFenceIsGone) {
  hold().reset();
  EXPECT_FALSE(exists("job/lease.json"));
  write_text(fenced_, remote_.at("job/a"), "1");
  EXPECT_TRUE(exists("job/a"));
}

TEST_F(FencedStorageTest, DoesNotMakeALocalDirectoryAgain) {
  const ScratchDirectory scratch;
  const std::string job = scratch / "job";
  std::filesystem::create_directory(job);
  const auto files = make_local_storage();
  FencedStorage fenced(*files);
  const FencedStorage::Fence fence(fenced, {Uri::parse(job)},
                                   *FileLock::take(job + "/lease.json", "host.1"));
  write_text(fenced, Uri::parse(job + "/a"), "1");
  const auto sink = fenced.create(Uri::parse(job + "/b"), {});
  std::filesystem::remove_all(job);
  EXPECT_THAT([&] { write_text(fenced, Uri::parse(job + "/a"), "2"); },
              ThrowsCode(Code::kNotFound, "was removed while the job ran"));
  EXPECT_THAT([&] { sink->close(); }, ThrowsCode(Code::kNotFound));
  EXPECT_FALSE(std::filesystem::exists(job));
  write_text(fenced, Uri::parse(scratch / "other"), "3");
}

}  // namespace
}  // namespace berth
