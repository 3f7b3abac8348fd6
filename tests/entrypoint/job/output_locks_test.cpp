#include "entrypoint/job/output_locks.h"

#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "storage/whole_file.h"
#include "tests/support/remote_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// Leases that their holders renew, and leases that they never renew.
constexpr LeaseTimes kRenewed{.lasts_s = 60, .renewed_every_s = 0.05, .margin_s = 1};
constexpr LeaseTimes kNotRenewed{.lasts_s = 0.3, .renewed_every_s = 100, .margin_s = 0.2};

// Names of directories begin in gs:// or in a local scratch directory.
class OutputLocksTest : public testing::TestWithParam<const char*> {
 protected:
  std::string at(const std::string& name) const {
    return std::string(GetParam()) == "gs" ? "gs://bucket/" + name : scratch_ / name;
  }
  std::unique_ptr<OutputLocks> train(const OutputOptions& output,
                                     const LeaseTimes& times = kRenewed) {
    return std::make_unique<OutputLocks>(JobDirectory(output), fenced_, stop_, times);
  }
  std::unique_ptr<OutputLocks> write_to(const std::string& name,
                                        const LeaseTimes& times = kRenewed) {
    return std::make_unique<OutputLocks>(Uri::parse(at(name)), fenced_, stop_, times);
  }
  bool is_there(const std::string& name) { return !fenced_.list(Uri::parse(at(name)), 1).empty(); }

  RemoteStorage remote_;
  ScratchDirectory scratch_;
  FencedStorage fenced_{*remote_.storage};
  std::atomic<bool> stop_ = false;
};

INSTANTIATE_TEST_SUITE_P(Places, OutputLocksTest, testing::Values("gs", "local"),
                         [](const auto& place) { return std::string(place.param); });

TEST_P(OutputLocksTest, OneProcessHoldsADirectory) {
  const auto first = write_to("a");
  EXPECT_THAT([&] { write_to("a"); }, ThrowsCode(Code::kInUse, "another process writes there"));
  EXPECT_THAT([&] { train({.job_dir = at("a")}); }, ThrowsCode(Code::kInUse));
  EXPECT_THAT([&] { train({.job_dir = at("b"), .export_dir = at("a")}); },
              ThrowsCode(Code::kInUse));
}

TEST_P(OutputLocksTest, ALeaseIsGivenBack) {
  write_to("a").reset();
  EXPECT_FALSE(is_there("a"));
  write_to("a");
}

TEST_P(OutputLocksTest, TheFoldersOfARunningTrainingAreItsOwn) {
  const auto training = train({.job_dir = at("a")});
  for (const char* name :
       {"a/model", "a/model/", "a/model/x", "a/summaries", "a/summaries/x/y", "a/checkpoints/x"}) {
    EXPECT_THAT([&] { write_to(name); }, ThrowsCode(Code::kInUse, "a/lease.json")) << name;
    EXPECT_THAT([&] { train({.job_dir = at(name)}); }, ThrowsCode(Code::kInUse)) << name;
    EXPECT_THAT([&] { train({.job_dir = at("b"), .export_dir = at(name)}); },
                ThrowsCode(Code::kInUse))
        << name;
    EXPECT_THAT([&] { train({.job_dir = at("b"), .summary_dir = at(name)}); },
                ThrowsCode(Code::kInUse))
        << name;
  }
}

TEST_P(OutputLocksTest, ATrainingDoesNotBeginWhileAnotherProcessWritesToItsFolders) {
  for (const char* name : {"a/model", "a/model/x", "a/summaries", "a/checkpoints/x/y"}) {
    const auto other = write_to(name);
    EXPECT_THAT([&] { train({.job_dir = at("a")}); },
                ThrowsCode(Code::kInUse, std::string(name) + "/lease.json"))
        << name;
  }
  train({.job_dir = at("a")});
}

TEST_P(OutputLocksTest, AFolderThatIsMovedElsewhereIsNotLookedInto) {
  const auto other = write_to("a/summaries");
  train({.job_dir = at("a"), .summary_dir = at("b")});
}

TEST_P(OutputLocksTest, OtherDirectoriesAreFree) {
  const auto training = train({.job_dir = at("a")});
  for (const char* name : {"a/exported", "a-model", "model", "b/model", "ab"}) {
    EXPECT_NO_THROW(write_to(name)) << name;
    EXPECT_NO_THROW(train({.job_dir = at(name)})) << name;
  }
}

TEST_P(OutputLocksTest, ATrainingIsNotInItsOwnWay) {
  train({.job_dir = at("a"), .export_dir = at("a/model/")});
  train({.job_dir = at("a"), .export_dir = at("a/model/best")});
  train(
      {.job_dir = at("a"), .checkpoint_dir = at("a/"), .summary_dir = at("a/checkpoints/events")});
}

TEST_P(OutputLocksTest, OfTwoThatBeginAtOnceAtMostOneGoesOn) {
  for (int i = 0; i < 20; ++i) {
    std::unique_ptr<OutputLocks> training, other;
    std::barrier begin(2);
    const auto attempt = [&](std::unique_ptr<OutputLocks>& locks, const auto& take) {
      begin.arrive_and_wait();
      try {
        locks = take();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kInUse) << error.what();
      }
    };
    {
      const std::jthread first(
          [&] { attempt(training, [this] { return train({.job_dir = at("a")}); }); });
      const std::jthread second([&] { attempt(other, [this] { return write_to("a/model"); }); });
    }
    EXPECT_FALSE(training && other);
  }
}

class LocalOutputLocksTest : public OutputLocksTest {};
INSTANTIATE_TEST_SUITE_P(Places, LocalOutputLocksTest, testing::Values("local"));

TEST_P(LocalOutputLocksTest, ARefusedProcessMakesNoDirectory) {
  const auto training = train({.job_dir = at("a")});
  const auto exists = [this](const char* name) { return std::filesystem::exists(at(name)); };
  EXPECT_THAT([&] { write_to("a/model"); }, ThrowsCode(Code::kInUse));
  EXPECT_FALSE(exists("a/model"));
  EXPECT_THAT([&] { train({.job_dir = at("a"), .checkpoint_dir = at("0")}); },
              ThrowsCode(Code::kInUse));
  EXPECT_FALSE(exists("0"));
  EXPECT_THAT([&] { train({.job_dir = at("0"), .export_dir = at("a")}); },
              ThrowsCode(Code::kInUse));
  EXPECT_FALSE(exists("0"));
  EXPECT_THAT([&] { train({.job_dir = at("0"), .checkpoint_dir = at("a")}); },
              ThrowsCode(Code::kInUse));
  EXPECT_FALSE(exists("0"));
}

TEST_P(LocalOutputLocksTest, ALinkLeadsToTheDirectoryThatIsHeld) {
  const auto other = write_to("a");
  std::filesystem::create_directory(at("b"));
  std::filesystem::create_directory_symlink("../a", at("b/model"));
  EXPECT_THAT([&] { write_to("b/model"); }, ThrowsCode(Code::kInUse));
  EXPECT_THAT([&] { train({.job_dir = at("b")}); }, ThrowsCode(Code::kInUse));
}

class RemoteOutputLocksTest : public OutputLocksTest {
 protected:
  void sleep(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
};
INSTANTIATE_TEST_SUITE_P(Places, RemoteOutputLocksTest, testing::Values("gs"));

TEST_P(RemoteOutputLocksTest, AnExpiredLeaseHoldsNobodyBackAndIsRemoved) {
  for (const char* left : {"a/lease.json", "a/model/lease.json"}) {
    write_text(fenced_, remote_.at(left), R"({"holder": "host.2", "process": "elsewhere"})");
  }
  sleep(0.4);
  write_to("a/model/x", kNotRenewed);
  EXPECT_FALSE(fenced_.stat(remote_.at("a/lease.json")));
  train({.job_dir = at("a")}, kNotRenewed);
  EXPECT_FALSE(fenced_.stat(remote_.at("a/model/lease.json")));
}

TEST_P(RemoteOutputLocksTest, AHolderThatWasSuspendedWritesNothingMore) {
  const auto suspended = train({.job_dir = at("a")}, kNotRenewed);
  sleep(0.4);
  const auto other = write_to("a/model", kNotRenewed);
  EXPECT_THAT([&] { write_text(fenced_, remote_.at("a/job.json"), "{}"); },
              ThrowsCode(Code::kInUse, "has taken the lease"));
  EXPECT_FALSE(fenced_.stat(remote_.at("a/job.json")));
}

TEST_P(RemoteOutputLocksTest, ARefusedProcessMakesNoLocalDirectory) {
  const auto training = train({.job_dir = at("a")});
  const std::string local = scratch_ / "local";
  EXPECT_THAT([&] { train({.job_dir = at("a"), .checkpoint_dir = local}); },
              ThrowsCode(Code::kInUse));
  EXPECT_THAT([&] { train({.job_dir = local, .export_dir = at("a/model")}); },
              ThrowsCode(Code::kInUse));
  EXPECT_FALSE(std::filesystem::exists(local));
}

TEST_P(RemoteOutputLocksTest, AStopEndsTheWaiting) {
  write_text(fenced_, remote_.at("a/lease.json"), R"({"holder": "host.2"})");
  std::jthread stopper([this] {
    sleep(0.1);
    stop_ = true;
  });
  EXPECT_THAT([&] { write_to("a/model", {.lasts_s = 1000, .renewed_every_s = 1000}); },
              ThrowsCode(Code::kStopped));
}

}  // namespace
}  // namespace berth
