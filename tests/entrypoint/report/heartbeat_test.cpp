#include "entrypoint/report/heartbeat.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "entrypoint/platform/stop_signals.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/secrets.h"
#include "storage/local_storage.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

struct CountedSteps : Observer {
  void on_step(const StepReport&) override { ++steps; }
  int steps = 0;
};

// Local files, also for gs:// URIs. Tests can make their creation fail or wait.
class SlowFiles final : public BorrowedStorage {
 public:
  SlowFiles(Storage& files, std::string directory)
      : BorrowedStorage(files), directory_(std::move(directory)) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    return BorrowedStorage::open(local(uri), options);
  }
  std::optional<Stat> stat(const Uri& uri) override { return BorrowedStorage::stat(local(uri)); }
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    if (released.valid()) released.wait();
    if (fails) throw Error(Code::kUnavailable, "no answer", uri.to_string());
    ++writes;
    return BorrowedStorage::create(local(uri), options);
  }

  bool fails = false;
  int writes = 0;
  std::shared_future<void> released;

 private:
  Uri local(const Uri& uri) const { return Uri::parse(directory_) / uri.file_name(); }
  const std::string directory_;
};

class HeartbeatTest : public testing::Test {
 protected:
  Heartbeat& begin(const std::string& file) {
    heartbeat_.emplace(inner_, storage_,
                       HeartbeatOptions{.file = Uri::parse(file),
                                        .host = "pod-7",
                                        .pid = 12,
                                        .process = "boot pid:[1] 12 34",
                                        .usage = usage_,
                                        .wall_clock = [this] { return 1.75e9 + now_s_; },
                                        .steady_clock = [this] { return now_s_; },
                                        .sleep = [this](double seconds) { slept_s_ += seconds; }});
    return *heartbeat_;
  }
  Heartbeat& begin_local() { return begin(scratch_ / "heartbeat.json"); }
  void step_at(double now_s, int64_t step) {
    now_s_ = now_s;
    heartbeat_->on(StepReport{.step = step,
                              .total_steps = 100,
                              .epoch = 0.25,
                              .loss = 9,
                              .interval_loss = 0.5,
                              .examples_per_second = 16,
                              .tokens_per_second = 512.25});
    heartbeat_->wait();
  }
  std::string text() { return read_text(scratch_.path() / "heartbeat.json"); }
  Json file() { return parse_json(text()); }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> files_ = make_local_storage();
  SlowFiles storage_{*files_, scratch_.path()};
  CapturedLog log_;
  CountedSteps inner_;
  ProcessUsage used_;
  UsageSource usage_;
  double now_s_ = 0, slept_s_ = 0;
  std::optional<Heartbeat> heartbeat_;
};

TEST_F(HeartbeatTest, SaysWhatTheJobIsDoing) {
  Heartbeat& heartbeat = begin_local();
  heartbeat.wait();
  EXPECT_EQ(text(), R"({"time":"2025-06-15T15:06:40.000Z","host":"pod-7","pid":12,)"
                    R"("process":"boot pid:[1] 12 34","attempt":1,"phase":"building","step":0})"
                    "\n");
  heartbeat.set_checkpoint(20, "runs/a/checkpoints/step-00000020");
  heartbeat.on(JobReport{.first_step = 20, .total_steps = 100});
  heartbeat.wait();
  step_at(40, 40);
  EXPECT_EQ(text(), R"({"time":"2025-06-15T15:07:20.000Z","host":"pod-7","pid":12,)"
                    R"("process":"boot pid:[1] 12 34","attempt":1,"phase":"training","step":40,)"
                    R"("max_steps":100,"epoch":0.25,"loss":0.5,"examples_per_second":16.0,)"
                    R"("tokens_per_second":512.2,"eta_seconds":120,)"
                    R"("checkpoint":"runs/a/checkpoints/step-00000020","checkpoint_step":20})"
                    "\n");
  EXPECT_EQ(inner_.steps, 1);
}

TEST_F(HeartbeatTest, SaysWhatTheProcessUses) {
  used_ = {.cpu_s = 5, .resident_bytes = 1000, .throttled_s = 2};
  usage_ = {.usage = [this] { return used_; }, .cpus = 4, .memory_limit_bytes = 8000};
  Heartbeat& heartbeat = begin_local();
  heartbeat.on(JobReport{.total_steps = 100});
  heartbeat.wait();
  used_ = {.cpu_s = 35, .resident_bytes = 3000, .throttled_s = 2.5};
  now_s_ = 10;
  heartbeat.on(StepReport{.step = 1, .flops_per_second = 3e9, .peak_flops_per_second = 4e9});
  heartbeat.wait();
  const Json says = file();
  EXPECT_EQ(says["cpu_percent"], 75);  // 30 s of the 40 that 4 CPUs had
  EXPECT_EQ(says["throttled_seconds"], 0.5);
  EXPECT_EQ(says["memory_bytes"], 3000);
  EXPECT_EQ(says["memory_percent"], 37.5);
  EXPECT_EQ(says["flops_per_second"], 3e9);
  EXPECT_EQ(says["flops_utilization"], 0.75);
}

TEST_F(HeartbeatTest, FollowsThePhases) {
  Heartbeat& heartbeat = begin_local();
  const auto phase = [&] {
    heartbeat.wait();
    return file()["phase"];
  };
  heartbeat.on(JobReport{.total_steps = 100});
  EXPECT_EQ(phase(), "training");
  heartbeat.on(Evaluating{0, 8});
  EXPECT_EQ(phase(), "evaluating");
  heartbeat.on(EvaluationReport{.step = 10});
  EXPECT_EQ(phase(), "training");
  heartbeat.on(ProbeBegins{"topics"});
  EXPECT_EQ(phase(), "probing");
  heartbeat.on(ProbesDone{});
  EXPECT_EQ(phase(), "training");
  heartbeat.on(WaitsForSave{10});
  EXPECT_EQ(phase(), "saving");
  heartbeat.on(CheckpointReport{.step = 10, .where = "step-00000010"});
  EXPECT_EQ(phase(), "training");
  EXPECT_EQ(file()["checkpoint_step"], 10);
  heartbeat.enter(JobPhase::kExporting);
  EXPECT_EQ(phase(), "exporting");
  heartbeat.enter(JobPhase::kFinished);
  heartbeat_.reset();
  EXPECT_EQ(file()["phase"], "finished");
}

TEST_F(HeartbeatTest, IsWrittenEveryTenSecondsWhereAPhaseLasts) {
  begin_local().on(JobReport{.total_steps = 100});
  heartbeat_->wait();
  step_at(9, 1);
  EXPECT_FALSE(file().contains("loss"));
  step_at(10, 2);
  EXPECT_EQ(file()["step"], 2);
  step_at(19, 3);
  EXPECT_EQ(file()["step"], 2);
  step_at(20, 4);
  EXPECT_EQ(file()["step"], 4);
}

TEST_F(HeartbeatTest, IsWrittenEveryThirtySecondsInRemoteStorageWithPauses) {
  begin("gs://bucket/job/heartbeat.json").wait();
  now_s_ = 0.25;
  heartbeat_->on(JobReport{.total_steps = 100});
  heartbeat_->wait();
  step_at(29, 1);
  EXPECT_EQ(file()["step"], 0);
  EXPECT_EQ(slept_s_, 0.75);
  step_at(31, 2);
  EXPECT_EQ(file()["step"], 2);
  EXPECT_EQ(slept_s_, 0.75);
}

TEST_F(HeartbeatTest, CollectsChangesWhileTheStorageIsSlow) {
  std::promise<void> may;
  storage_.released = may.get_future().share();
  Heartbeat& heartbeat = begin_local();
  for (int i = 0; i < 50; ++i) {
    heartbeat.on(Evaluating{i, 50});
    heartbeat.on(EvaluationReport{.step = i});
  }
  heartbeat.enter(JobPhase::kFinished);
  may.set_value();
  heartbeat.wait();
  EXPECT_EQ(file()["phase"], "finished");
  EXPECT_LE(storage_.writes, 2);
}

TEST_F(HeartbeatTest, AFailureIsOneWarning) {
  storage_.fails = true;
  begin_local().on(JobReport{.total_steps = 100});
  heartbeat_->wait();
  step_at(10, 1);
  step_at(20, 2);
  EXPECT_EQ(log_.warnings().find("heartbeat.json could not be written"),
            log_.warnings().rfind("heartbeat.json could not be written"));
  EXPECT_NE(log_.warnings(), "");
  storage_.fails = false;
  step_at(30, 3);
  EXPECT_EQ(file()["step"], 3);
}

TEST_F(HeartbeatTest, SaysThatTheProcessEndedAndCountsTheNextOne) {
  begin_local();
  heartbeat_.reset();
  EXPECT_EQ(file()["phase"], "ended");
  begin_local().wait();
  EXPECT_EQ(file()["attempt"], 2);
  heartbeat_.reset();
  for (const char* damaged : {"", "[1]", R"({"attempt": -4})", R"({"attempt": 99999999999999})"}) {
    write_text(scratch_.path() / "heartbeat.json", damaged);
    begin_local().wait();
    EXPECT_EQ(file()["attempt"], 1) << damaged;
    heartbeat_.reset();
  }
}

// Going back to the beginning leaves fewer updates than the process began with.
TEST_F(HeartbeatTest, HasNoNumbersThatAreNone) {
  begin_local().on(JobReport{.first_step = 20, .total_steps = 100});
  heartbeat_->wait();
  now_s_ = 10;
  heartbeat_->on(StepReport{.step = 3, .total_steps = 100, .interval_loss = 0.0 / 0.0});
  heartbeat_->wait();
  EXPECT_TRUE(file()["loss"].is_null());
  EXPECT_FALSE(file().contains("eta_seconds"));
}

TEST_F(HeartbeatTest, ContainsNoSecret) {
  const std::string secret = "s3cr3t-t0ken-of-the-heartbeat";
  remember_secret(secret);
  begin_local().on(CheckpointReport{.step = 1, .where = "gs://bucket/" + secret});
  heartbeat_.reset();
  EXPECT_EQ(text().find(secret), std::string::npos);
  EXPECT_EQ(file()["checkpoint"], "gs://bucket/...");
}

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

TEST(Watchdog, CallsWhereNoSignComes) {
  CountedSteps inner;
  std::atomic<int> calls = 0;
  std::atomic<double> silent_s = 0;
  Watchdog watchdog(inner, 0.1, [&](double seconds) {
    silent_s = seconds;
    ++calls;
  });
  for (int i = 0; i < 500 && calls == 0; ++i) sleep(0.02);
  EXPECT_EQ(calls, 1);
  EXPECT_GE(silent_s, 0.1);
}

TEST(Watchdog, IsQuietWhileSignsCome) {
  CountedSteps inner;
  std::atomic<int> calls = 0;
  Watchdog watchdog(inner, 60, [&](double) { ++calls; });
  watchdog.on(StepReport{});
  watchdog.on(Evaluating{1, 2});
  EXPECT_EQ(inner.steps, 1);
  EXPECT_EQ(calls, 0);
}

TEST(Watchdog, DoesNotCountProbes) {
  CountedSteps inner;
  std::atomic<int> calls = 0;
  Watchdog watchdog(inner, 1, [&](double) { ++calls; });
  watchdog.on(ProbeBegins{"a"});
  sleep(2);
  EXPECT_EQ(calls, 0);
  watchdog.on(ProbesDone{});
  for (int i = 0; i < 500 && calls == 0; ++i) sleep(0.02);
  EXPECT_EQ(calls, 1);
}

TEST(ThreadStacks, NameEveryThread) {
  std::atomic<bool> is_named = false, ends = false;
  std::jthread other([&] {
    ::pthread_setname_np(::pthread_self(), "sleeper");
    is_named = true;
    while (!ends) sleep(0.01);
  });
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  while (!is_named) sleep(0.001);
  write_thread_stacks(pipe_ends[1]);
  ends = true;
  ::close(pipe_ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t size; (size = ::read(pipe_ends[0], part, sizeof part)) > 0;) {
    text.append(part, static_cast<size_t>(size));
  }
  ::close(pipe_ends[0]);
  const size_t at = text.find("(sleeper):\n");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NE(text.find("0x", at), std::string::npos) << text;
}

}  // namespace
}  // namespace berth
