#include "entrypoint/report/event_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <latch>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/protobuf_wire.h"
#include "storage/formats/tfrecord.h"
#include "storage/local_storage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

// Stores local files. Tests can make their creation fail or wait.
class UnreliableStorage final : public Storage {
 public:
  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    return files_->open(uri, options);
  }
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    if (held != nullptr) held->wait();
    if (failure) throw Error(*failure, "refused", uri.to_string());
    return files_->create(uri, options);
  }
  std::optional<Stat> stat(const Uri& uri) override { return files_->stat(uri); }
  std::vector<Stat> list(const Uri& prefix, size_t enough = SIZE_MAX) override {
    return files_->list(prefix, enough);
  }
  void remove(const Uri& uri, std::optional<Generation> generation) override {
    files_->remove(uri, generation);
  }

  std::optional<Code> failure;
  std::latch* held = nullptr;  // no file is created before this latch opens

 private:
  std::unique_ptr<Storage> files_ = make_local_storage();
};

class EventFilesTest : public testing::Test {
 protected:
  EventFilesTest() {
    set_log_sink([this](LogLevel, const std::string& line) { logged_ += line + "\n"; });
  }
  ~EventFilesTest() override {
    events_.reset();
    set_log_sink({});
    std::filesystem::remove_all(directory_);
  }

  EventFiles& events() {
    if (!events_) {
      events_.emplace(storage_, Uri::parse(directory_),
                      EventFileOptions{.writer = "host.7",
                                       .settings = "| flag | value |",
                                       .hparams = hparams_,
                                       .wall_clock = [this] { return 1.7e9 + now_s_; },
                                       .steady_clock = [this] { return now_s_; }});
    }
    return *events_;
  }
  void start() { events().on_start({.first_step = 0, .kernels = ""}); }
  void step_at(double now_s, int64_t step, bool log = true) {
    now_s_ = now_s;
    events().on_step({.step = step,
                      .interval_loss = 0.5,
                      .learning_rate = 0.25,
                      .grad_norm = 2,
                      .examples_per_second = 100,
                      .log = log});
    events().wait();
  }
  std::vector<std::string> names(const std::string& run) {
    std::vector<std::string> names;
    for (const Stat& stat : storage_.list(Uri::parse(directory_) / run)) {
      names.push_back(Uri::parse(stat.name).file_name());
    }
    return names;
  }
  // Returns "step tag=value ..." for every event of a run. Its files are read in the order of their
  // names.
  std::vector<std::string> contents(const std::string& run) {
    std::vector<std::string> events;
    for (const std::string& name : names(run)) {
      TfRecordReader reader(storage_.open(Uri::parse(directory_) / run / name, {}));
      for (std::vector<std::byte> record; reader.next(record);) events.push_back(show(record));
    }
    return events;
  }

  static std::string show(Bytes record) {
    std::string step = "0", text;
    ProtoField field;
    for (ProtoReader event(record); event.next(field);) {
      if (field.number == 2) step = std::to_string(field.as_int64());
      if (field.number == 3) text += " " + std::string(field.as_text());
      if (field.number != 5) continue;
      ProtoField value;
      for (ProtoReader summary(field.as_bytes()); summary.next(value);) {
        ProtoField part;
        for (ProtoReader scalar(value.as_bytes()); scalar.next(part);) {
          if (part.number == 1) text += " " + std::string(part.as_text());
          if (part.number == 2) text += "=" + std::to_string(part.as_float32()).substr(0, 5);
        }
      }
    }
    return step + text;
  }

  const std::string directory_ = testing::TempDir() + "event_files_" +
                                 testing::UnitTest::GetInstance()->current_test_info()->name();
  std::vector<HParam> hparams_;
  double now_s_ = 0;
  std::string logged_;
  UnreliableStorage storage_;
  std::optional<EventFiles> events_;
};

constexpr const char* kVersion = "0 brain.Event:2";

TEST_F(EventFilesTest, TrainRunHoldsTheLoggedSteps) {
  start();
  step_at(1, 1);
  step_at(2, 2, false);
  step_at(3, 3);
  events().on_finish();
  const std::string scalars =
      " loss=0.500 learning_rate=0.250 grad_norm=2.000 examples_per_second=100.0";
  EXPECT_THAT(contents("train"),
              ElementsAre(kVersion, "0 settings", kVersion, "1" + scalars, "3" + scalars));
  EXPECT_THAT(contents("eval"), ElementsAre());
}

TEST_F(EventFilesTest, EvalRunHoldsLossAndMetrics) {
  start();
  events().on_evaluation(
      {.step = 4, .loss = 0.5, .metrics = {{"accuracy", 0.75}, {"f1", 0.5}}, .split = "eval"});
  events().on_finish();
  EXPECT_THAT(contents("eval"),
              ElementsAre(kVersion,
                          "4 loss=0.500 accuracy=0.750 f1=0.500 evaluation_loss_vs_iterations=0.500"
                          " evaluation_accuracy_vs_iterations=0.750"
                          " evaluation_f1_vs_iterations=0.500"));
}

TEST_F(EventFilesTest, WholeEpochsHaveTheNamesOfKeras) {
  start();
  for (int64_t step = 1; step <= 4; ++step) {
    events().on_step({.step = step,
                      .epoch = 0.5 * static_cast<double>(step),
                      .loss = static_cast<double>(step),
                      .learning_rate = 0.125});
  }
  events().on_evaluation({.step = 3, .epoch = 1.5, .loss = 0.25});
  events().on_evaluation({.step = 4, .epoch = 2, .loss = 0.5, .metrics = {{"accuracy", 0.75}}});
  events().on_finish();
  EXPECT_THAT(contents("train"),
              testing::IsSupersetOf({"0 epoch_loss=1.500 epoch_learning_rate=0.125",
                                     "1 epoch_loss=3.500 epoch_learning_rate=0.125"}));
  EXPECT_THAT(contents("eval"), testing::Contains("1 epoch_loss=0.500 epoch_accuracy=0.750"));
  EXPECT_EQ(contents("eval").size(), 4U);
}

TEST_F(EventFilesTest, ASmallLastBatchCountsByItsLabels) {
  start();
  for (int64_t step = 1; step <= 3; ++step) {
    const bool is_last = step == 3;
    events().on_step({.step = step,
                      .epoch = is_last ? 1 : 0.4 * static_cast<double>(step),
                      .loss = is_last ? 2.0 : 1.0,
                      .loss_weight = is_last ? 2.0 : 8.0});
  }
  events().on_finish();
  // (8 + 8 + 2 * 2) / 18, and not (1 + 1 + 2) / 3.
  EXPECT_THAT(contents("train"), testing::Contains("0 epoch_loss=1.111 epoch_learning_rate=0.000"));
}

TEST_F(EventFilesTest, AnEpochThatAnotherProcessBeganHasNoMean) {
  events().on_start({.first_step = 1});
  for (int64_t step = 2; step <= 4; ++step) {
    events().on_step({.step = step, .epoch = 0.5 * static_cast<double>(step), .loss = 1});
  }
  events().on_finish();
  EXPECT_THAT(contents("train"), ElementsAre(kVersion, "1 settings", kVersion,
                                             "1 epoch_loss=1.000 epoch_learning_rate=0.000"));
}

TEST_F(EventFilesTest, TheFolderHoldsTheHparams) {
  hparams_ = {{"seed", 1.0}};
  start();
  events().on_finish();
  EXPECT_THAT(contents("."), testing::IsSupersetOf({"0 _hparams_/session_start_info",
                                                    "0 _hparams_/session_end_info"}));
}

TEST_F(EventFilesTest, EveryFlushIsAFileAndNamesSortByTime) {
  start();
  step_at(9, 1);
  EXPECT_THAT(names("train"), ElementsAre("events.out.tfevents.1700000000.host.7.000000"));
  step_at(10, 2);
  step_at(19, 3);
  EXPECT_THAT(names("train"), ElementsAre("events.out.tfevents.1700000000.host.7.000000",
                                          "events.out.tfevents.1700000010.host.7.000001"));
  step_at(20, 4);
  EXPECT_EQ(names("train").size(), 3u);
}

TEST_F(EventFilesTest, LongJobsStoreEveryTwentiethOfTheirTime) {
  start();
  step_at(1000, 1);
  step_at(1049, 2);
  EXPECT_EQ(names("train").size(), 2u);
  step_at(1060, 3);
  EXPECT_EQ(names("train").size(), 3u);
}

TEST_F(EventFilesTest, NamesKeepTheirOrderWhenTheClockIsSetBack) {
  now_s_ = 100;
  start();
  events().on_step({.step = 1, .log = true});
  now_s_ = 50;
  events().on_finish();
  EXPECT_THAT(names("train"), ElementsAre("events.out.tfevents.1700000100.host.7.000000",
                                          "events.out.tfevents.1700000100.host.7.000001"));
}

TEST_F(EventFilesTest, AFailedWriteIsAWarningAndIsRepeated) {
  start();
  storage_.failure = Code::kUnavailable;
  step_at(10, 1);
  EXPECT_THAT(logged_, testing::HasSubstr("the summaries could not be stored"));
  EXPECT_EQ(names("train").size(), 1u);
  storage_.failure.reset();
  step_at(15, 2);
  EXPECT_EQ(names("train").size(), 1u);
  step_at(20, 3);
  EXPECT_EQ(contents("train").size(), 2u + 1u + 3u);
}

TEST_F(EventFilesTest, ASlowStorageDelaysNoStep) {
  start();
  std::latch held(1);
  storage_.held = &held;
  for (const double now_s : {10, 20, 30}) {
    now_s_ = now_s;
    events().on_step({.step = static_cast<int64_t>(now_s), .log = true});
  }
  held.count_down();
  events().wait();
  EXPECT_EQ(names("train").size(), 2u);
  step_at(40, 40);
  EXPECT_EQ(names("train").size(), 3u);
  EXPECT_EQ(contents("train").size(), 2u + 1u + 1u + 1u + 3u);
}

TEST_F(EventFilesTest, ARefusedDirectoryEndsTheJobOnlyAtItsStart) {
  storage_.failure = Code::kNotPermitted;
  EXPECT_THAT([&] { start(); }, ThrowsCode(Code::kNotPermitted, "refused"));
  step_at(10, 1);
  EXPECT_THAT(logged_, testing::HasSubstr("the summaries could not be stored"));
  storage_.failure = Code::kUnavailable;
  start();
}

TEST_F(EventFilesTest, StoppedJobKeepsItsSummaries) {
  start();
  step_at(1, 1);
  events_.reset();
  EXPECT_EQ(contents("train").size(), 4u);
}

}  // namespace
}  // namespace berth
