#include "storage/fenced_storage.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "storage/local_storage.h"
#include "storage/retry.h"
#include "storage/whole_file.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/captured_log.h"
#include "tests/support/failing_storage.h"
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

// The storage goes away while a job holds a lease, and each request is retried for 900 s.
TEST_F(FencedStorageTest, AFailedJobDoesNotWaitLongForItsLastActs) {
  SleepClock clock;
  RetryOptions retry;
  clock.attach_to(retry);
  FencedStorage* fences = nullptr;
  retry.gives_up = [&] { return fences != nullptr && fences->last_acts_are_over(); };
  auto failing = std::make_unique<FailingStorage>(*remote_.storage, /*left=*/1);
  const auto retrying = make_retrying_storage(std::move(failing), retry);
  FencedStorage fenced(*retrying, retry.now);
  fences = &fenced;
  double failed_s = 0;
  const auto job = [&] {
    const FencedStorage::Fence fence(fenced, remote_.at("job"), "lease.json", {.name = "host.1"},
                                     stop_, {.renewed_every_s = 100});
    try {
      write_text(fenced, remote_.at("job/a"), "1");
    } catch (const Error&) {
      failed_s = clock.now_s();
      throw;
    }
  };
  EXPECT_THAT(job, ThrowsCode(Code::kUnavailable));
  EXPECT_GT(failed_s, 800);
  EXPECT_LT(clock.now_s() - failed_s, 15);
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

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

// A lease that its holder renews, and one that it never renews.
constexpr LeaseTimes kRenewed{.lasts_s = 60, .renewed_every_s = 0.05, .margin_s = 1};
constexpr LeaseTimes kNotRenewed{.lasts_s = 0.3, .renewed_every_s = 100, .margin_s = 0.2};

class RemoteLeaseTest : public testing::Test {
 protected:
  std::unique_ptr<RemoteLease> take(const std::string& name, const LeaseTimes& times = kRenewed,
                                    const std::string& ended = "none") {
    LeaseHolder holder{.name = name, .process = "process of " + name};
    holder.has_ended = [ended](std::string_view process) { return process == ended; };
    return std::make_unique<RemoteLease>(*remote_.storage, object_, holder, stop_, times);
  }
  void put(const std::string& text) { write_text(*remote_.storage, object_, text); }
  std::string text() { return read_text(*remote_.storage, object_).value_or("absent"); }

  RemoteStorage remote_;
  const Uri object_ = Uri::parse("gs://bucket/job/lease.json");
  std::atomic<bool> stop_ = false;
};

TEST_F(RemoteLeaseTest, IsHeldByOneProcessWhichItNames) {
  const auto first = take("host.1");
  EXPECT_NE(text().find("host.1"), std::string::npos) << text();
  EXPECT_THAT([&] { take("host.2"); }, ThrowsCode(Code::kInUse, "host.1 holds the lease"));
  first->require_held();
}

TEST_F(RemoteLeaseTest, IsGivenBackByItsHolder) {
  take("host.1").reset();
  EXPECT_EQ(text(), "absent");
  take("host.2")->require_held();
}

TEST_F(RemoteLeaseTest, OfAProcessThatHasEndedIsTakenAtOnce) {
  put(R"({"holder": "host.1", "process": "dead", "lasts_s": 30})");
  CapturedLog log;
  const auto begin = std::chrono::steady_clock::now();
  take("host.2", kRenewed, "dead")->require_held();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_NE(log.lines().find("took over the lease of host.1"), std::string::npos) << log.lines();
}

TEST_F(RemoteLeaseTest, ThatHasExpiredIsTakenWithoutWaiting) {
  put(R"({"holder": "host.1", "process": "elsewhere"})");
  sleep(0.4);
  CapturedLog log;
  take("host.2", kNotRenewed)->require_held();
  EXPECT_EQ(log.lines().find("waiting until"), std::string::npos) << log.lines();
}

TEST_F(RemoteLeaseTest, ThatNobodyRenewsIsTakenWhenItExpires) {
  put(R"({"holder": 1})");
  CapturedLog log;
  take("host.2", {.lasts_s = 2, .renewed_every_s = 100, .margin_s = 1})->require_held();
  EXPECT_NE(log.lines().find("waiting until"), std::string::npos) << log.lines();
  EXPECT_NE(log.lines().find("lease of another process"), std::string::npos) << log.lines();
}

TEST_F(RemoteLeaseTest, ThatWasNotRenewedInTimeIsRenewedBeforeWriting) {
  const auto lease = take("host.1", kNotRenewed);
  const Generation before = remote_.storage->stat(object_)->generation;
  sleep(0.2);
  lease->require_held();
  EXPECT_NE(remote_.storage->stat(object_)->generation, before);
}

// As after the process was stopped, or its machine was suspended.
TEST_F(RemoteLeaseTest, ThatAnotherProcessTookIsLost) {
  auto first = take("host.1", kNotRenewed);
  sleep(0.4);
  const auto second = take("host.2", kNotRenewed);
  EXPECT_THAT([&] { first->require_held(); }, ThrowsCode(Code::kInUse, "has taken the lease"));
  EXPECT_THAT([&] { first->require_held(); }, ThrowsCode(Code::kInUse));
  first.reset();  // does not remove the other one's lease
  second->require_held();
  EXPECT_NE(text().find("host.2"), std::string::npos) << text();
}

TEST_F(RemoteLeaseTest, IsFoundLostByItsRenewal) {
  const auto lease = take("host.1", kRenewed);
  put(R"({"holder": "host.2"})");
  for (int i = 0; i < 200; ++i) {
    sleep(0.02);
    try {
      lease->require_held();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInUse);
      return;
    }
  }
  FAIL() << "the lease of another process was renewed";
}

// As in a bucket with a retention policy.
class WriteOnceStorage final : public BorrowedStorage {
 public:
  using BorrowedStorage::BorrowedStorage;
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    if (options.if_generation.value_or(0) != 0) {
      throw Error(Code::kNotPermitted, "objects may not be replaced", uri.to_string());
    }
    return BorrowedStorage::create(uri, options);
  }
};

TEST_F(RemoteLeaseTest, ThatMayNotBeReplacedHoldsNobodyBack) {
  WriteOnceStorage once(*remote_.storage);
  CapturedLog log;
  RemoteLease first(once, object_, {.name = "host.1"}, stop_, kNotRenewed);
  sleep(0.4);
  first.require_held();
  EXPECT_NE(log.warnings().find("cannot be renewed"), std::string::npos) << log.lines();
  RemoteLease(once, object_, {.name = "host.2"}, stop_, kNotRenewed).require_held();
}

// Where objects can be replaced, a refusal does not last.
class SometimesRefusing final : public BorrowedStorage {
 public:
  using BorrowedStorage::BorrowedStorage;
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    if (refuses) throw Error(Code::kNotPermitted, "not permitted now", uri.to_string());
    return BorrowedStorage::create(uri, options);
  }

  bool refuses = false;
};

TEST_F(RemoteLeaseTest, ThatWasReplacedOnceIsNotGivenUpForARefusal) {
  SometimesRefusing storage(*remote_.storage);
  CapturedLog log;
  RemoteLease lease(storage, object_, {.name = "host.1"}, stop_, kNotRenewed);
  sleep(0.2);
  lease.require_held();
  storage.refuses = true;
  sleep(0.2);
  EXPECT_THAT([&] { lease.require_held(); }, ThrowsCode(Code::kNotPermitted));
  storage.refuses = false;
  lease.require_held();
  EXPECT_EQ(log.warnings(), "");
}

TEST_F(RemoteLeaseTest, IsStillHeldAfterAnAnswerWasLost) {
  RemoteLease lease(*remote_.storage, object_, {.name = "host.1", .process = "1"}, stop_,
                    kNotRenewed);
  put(R"({"holder": "host.1", "process": "1"})");  // as by a renewal whose answer was lost
  sleep(0.2);
  lease.require_held();
  put(R"({"holder": "host.1", "process": "2"})");
  sleep(0.2);
  EXPECT_THAT([&] { lease.require_held(); }, ThrowsCode(Code::kInUse, "has taken the lease"));
}

// As another process in a bucket with a retention policy leaves it.
class KeepingStorage final : public BorrowedStorage {
 public:
  using BorrowedStorage::BorrowedStorage;
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    if (uri.file_name() != "lease.json") return BorrowedStorage::remove(uri, if_generation);
    throw Error(Code::kNotPermitted, "objects may not be removed", uri.to_string());
  }
};

// A lease whose holder gives it back before it can be removed.
class GivenBackMeanwhile final : public BorrowedStorage {
 public:
  using BorrowedStorage::BorrowedStorage;
  void remove(const Uri& uri, std::optional<Generation> if_generation) override {
    if (uri.file_name() != "lease.json") return BorrowedStorage::remove(uri, if_generation);
    BorrowedStorage::remove(uri, {});
    throw Error(Code::kInUse, "has another generation", uri.to_string());
  }
};

TEST_F(RemoteLeaseTest, OfAnotherDirectoryThatWasGivenBackIsFree) {
  put(R"({"holder": "host.1"})");
  sleep(0.4);
  GivenBackMeanwhile storage(*remote_.storage);
  const Uri elsewhere = remote_.at("job/model");
  const RemoteLease lease(storage, elsewhere / "lease.json", {.name = "host.2"}, stop_,
                          kNotRenewed);
  EXPECT_NO_THROW(lease.require_free(object_, elsewhere, stop_));
}

TEST_F(RemoteLeaseTest, ThatHasExpiredAndMayNotBeRemovedIsFree) {
  put(R"({"holder": "host.1"})");
  sleep(0.4);
  KeepingStorage keeping(*remote_.storage);
  const Uri elsewhere = remote_.at("job/model");
  const RemoteLease lease(keeping, elsewhere / "lease.json", {.name = "host.2"}, stop_,
                          kNotRenewed);
  EXPECT_NO_THROW(lease.require_free(object_, elsewhere, stop_));
  EXPECT_EQ(text(), R"({"holder": "host.1"})");
}

TEST_F(RemoteLeaseTest, OfAnotherDirectoryIsNotFreeWhileItIsRenewed) {
  const auto first = take("host.1");
  const Uri elsewhere = remote_.at("job/model");
  const RemoteLease second(*remote_.storage, elsewhere / "lease.json", {.name = "host.2"}, stop_,
                           kRenewed);
  EXPECT_THAT([&] { second.require_free(object_, elsewhere, stop_); },
              ThrowsCode(Code::kInUse, "host.1 holds the lease gs://bucket/job/lease.json"));
  first->require_held();
}

// Finds nothing the first time that a lease is read, as when the holder renews it meanwhile.
class RenewedMeanwhile final : public BorrowedStorage {
 public:
  using BorrowedStorage::BorrowedStorage;
  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    if (std::exchange(is_read_, true)) return BorrowedStorage::open(uri, options);
    throw Error(Code::kNotFound, "was replaced since it was looked up", uri.to_string());
  }

 private:
  bool is_read_ = false;
};

TEST_F(RemoteLeaseTest, OfAnotherDirectoryIsNotFreeBecauseItIsRenewedWhileItIsRead) {
  const auto first = take("host.1");
  RenewedMeanwhile renewed(*remote_.storage);
  const Uri elsewhere = remote_.at("job/model");
  const RemoteLease second(renewed, elsewhere / "lease.json", {.name = "host.2"}, stop_, kRenewed);
  EXPECT_THAT([&] { second.require_free(object_, elsewhere, stop_); },
              ThrowsCode(Code::kInUse, "host.1 holds the lease gs://bucket/job/lease.json"));
}

TEST_F(RemoteLeaseTest, OtherDataOfThatNameIsKept) {
  const Uri elsewhere = remote_.at("job/model");
  const RemoteLease lease(*remote_.storage, elsewhere / "lease.json", {.name = "host.2"}, stop_,
                          kNotRenewed);
  for (const std::string data : {"not JSON", "{}", "[]", R"({"lease": "of a flat"})", ""}) {
    put(data);
    sleep(0.4);
    EXPECT_THAT([&] { take("host.1", kNotRenewed); },
                ThrowsCode(Code::kNotPermitted, "holds other data and is not a lease"));
    EXPECT_NO_THROW(lease.require_free(object_, elsewhere, stop_));
    EXPECT_EQ(text(), data);
  }
}

TEST_F(RemoteLeaseTest, AStopEndsTheWaiting) {
  put(R"({"holder": "host.1"})");
  std::jthread stopper([this] {
    sleep(0.1);
    stop_ = true;
  });
  EXPECT_THAT([&] { take("host.2", {.lasts_s = 1000, .renewed_every_s = 1000}); },
              ThrowsCode(Code::kStopped));
}

TEST_F(RemoteLeaseTest, OfManyProcessesOneGetsIt) {
  constexpr int kProcesses = 6;
  std::vector<std::unique_ptr<RemoteLease>> leases(kProcesses);
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kProcesses; ++i) {
      threads.emplace_back([&, i] {
        try {
          leases[static_cast<size_t>(i)] = take("host." + std::to_string(i));
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), Code::kInUse);
          ++refused;
        }
      });
    }
  }
  EXPECT_EQ(refused, kProcesses - 1);
}

}  // namespace
}  // namespace berth
