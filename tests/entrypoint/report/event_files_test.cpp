#include "entrypoint/report/event_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <latch>
#include <string>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"
#include "storage/formats/event_file.h"
#include "storage/formats/tfrecord.h"
#include "storage/local_storage.h"
#include "tests/support/decoded_png.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

std::vector<std::string> tags(const TaskScores& scores) {
  std::vector<std::string> tags;
  for (const auto& record : class_events(1.7e9, 3, scores)) {
    const Event event = parse_event(Bytes(record).subspan(12, record.size() - 16));
    EXPECT_EQ(event.step, 3);
    tags.push_back(event.values.at(0).tag);
  }
  return tags;
}

TEST(ClassEvents, AreACurveOfEachClassAndTheConfusionMatrix) {
  TaskScores scores;
  scores.classes = {{.name = "spam"}, {.name = "a\x1b[31m\xff"}, {.name = std::string(100, 'x')}};
  scores.details.thresholds.resize(3);
  scores.confusion = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  EXPECT_THAT(tags(scores), testing::ElementsAre("pr_curves/spam", "pr_curves/a\\x1b[31m\\xff",
                                                 "pr_curves/" + std::string(60, 'x') + "... 2",
                                                 "confusion_matrix"));
  scores.confusion.clear();
  EXPECT_EQ(tags(scores).size(), 3u);
  EXPECT_TRUE(tags(TaskScores()).empty());
}

TEST(ClassEvents, CurvesHaveTheRowsOfTensorBoard) {
  TaskScores scores;
  scores.classes = {{.name = "spam"}};
  ThresholdCounts& counts = scores.details.thresholds.emplace_back();
  for (const auto& [probability, is_spam] :
       {std::pair{1.0, true}, {0.5, true}, {0.5, false}, {0.0, false}}) {
    counts.add(probability, is_spam);
  }
  // True and false positives, true and false negatives, precision, recall; for the thresholds
  // 0, those up to 0.5, and those above.
  const float rows[6][3] = {{2, 2, 1}, {2, 1, 0},           {0, 1, 2},
                            {0, 0, 1}, {0.5f, 2.0f / 3, 1}, {1, 1, 0.5f}};
  std::vector<float> values;
  for (const auto& [at_zero, up_to_half, above] : rows) {
    values.push_back(at_zero);
    values.insert(values.end(), 100, up_to_half);
    values.insert(values.end(), 100, above);
  }
  EXPECT_EQ(class_events(1.7e9, 3, scores).at(0),
            pr_curve_event(1.7e9, 3, "pr_curves/spam", values));
}

using Rgb = std::array<int, 3>;
constexpr Rgb kWhite = {255, 255, 255}, kBlue = {8, 48, 107}, kInk = {32, 32, 32};

TEST(ConfusionImage, IsAsDarkAsTheShareOfTheRow) {
  const ConfusionImage image = confusion_image({{3, 1}, {0, 1000}});
  EXPECT_EQ(image.png, confusion_image({{3, 1}, {0, 1000}}).png);
  const DecodedPng png = decoded_png(image.png);
  // A margin of 28 pixels, and cells with room for four digits.
  ASSERT_EQ(png.width, 28u + 2 * 40);
  ASSERT_EQ(png.height, png.width);
  EXPECT_EQ(image.width, png.width);
  const auto corner = [&](uint32_t truth, uint32_t guess) {
    return png.at(29 + 40 * guess, 29 + 40 * truth);
  };
  EXPECT_EQ(corner(1, 0), kWhite);
  EXPECT_EQ(corner(1, 1), kBlue);
  const Rgb quarter = corner(0, 1), most = corner(0, 0);
  EXPECT_NEAR(quarter[0], 255 - 247 / 4, 3);
  EXPECT_NEAR(most[0], 255 - 247 * 3 / 4, 3);
}

TEST(ConfusionImage, WritesTheCounts) {
  const DecodedPng png = decoded_png(confusion_image({{0, 7}, {0, 0}}).png);
  // The cell of the count 7, which is light on dark: five rows of three dots.
  std::string seven;
  for (uint32_t y = 0; y < 5; ++y) {
    for (uint32_t x = 0; x < 3; ++x) seven += png.at(67 + 2 * x, 37 + 2 * y) == kWhite ? '#' : '.';
  }
  EXPECT_EQ(seven, "###..#..#..#..#");
  // Its row has the number 0, its column the number 1, in the margin.
  EXPECT_EQ(png.at(11, 37), kInk);
  EXPECT_EQ(png.at(69, 9), kInk);
}

TEST(ConfusionImage, OfManyClassesHasCellsAlone) {
  std::vector<std::vector<int64_t>> counts(200, std::vector<int64_t>(200, 0));
  counts[199][0] = 5;
  const DecodedPng png = decoded_png(confusion_image(counts).png);
  ASSERT_EQ(png.width, 600u);
  EXPECT_EQ(png.at(0, 599), kBlue);
  EXPECT_EQ(png.at(2, 597), kBlue);
  EXPECT_EQ(png.at(3, 599), kWhite);
}

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

class ProbeEventsTest : public testing::Test {
 protected:
  static ProbeReport report(int64_t step, const std::string& name, double accuracy) {
    return {.step = step,
            .name = name,
            .metric = "accuracy",
            .metrics = {{"accuracy", accuracy}},
            .loss = 0.5};
  }
  // "file: step tag=value ..." for every event with scalars.
  std::vector<std::string> contents() {
    std::vector<std::string> shown;
    for (const Stat& stat : storage_->list(directory_)) {
      const Uri file = Uri::parse(stat.name);
      TfRecordReader records(storage_->open(file));
      for (std::vector<std::byte> record; records.next(record);) {
        const Event event = parse_event(record);
        if (event.values.empty()) continue;
        std::string text = cat(file.file_name(), ": ", event.step);
        for (const SummaryValue& value : event.values) {
          text += cat(" ", value.tag, "=", value.scalar.value());
        }
        shown.push_back(text);
      }
    }
    return shown;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  const Uri directory_ = Uri::parse(scratch_ / "probe");
};

TEST_F(ProbeEventsTest, EachStepHasAFileWithTheScoresOfItsProbes) {
  ProbeEvents events(*storage_, directory_);
  events.add({report(0, "topics", 0.25), report(0, "ner", 0.5)}, 1.7e9);
  events.add({report(20, "topics", 0.75)}, 1.7e9);
  events.flush();
  EXPECT_THAT(contents(), ElementsAre("events.out.tfevents.0000000000.probe: 0 "
                                      "probe/topics/loss=0.5 probe/topics/accuracy=0.25 "
                                      "probe/ner/loss=0.5 probe/ner/accuracy=0.5",
                                      "events.out.tfevents.0000000020.probe: 20 "
                                      "probe/topics/loss=0.5 probe/topics/accuracy=0.75"));
}

TEST_F(ProbeEventsTest, ARepeatedProbeReplacesItsScores) {
  for (int process = 0; process < 2; ++process) {
    ProbeEvents events(*storage_, directory_);
    events.add({report(5, "topics", 0.5)}, 1.7e9 + process);
    events.flush();
  }
  EXPECT_THAT(contents(), ElementsAre("events.out.tfevents.0000000005.probe: 5 "
                                      "probe/topics/loss=0.5 probe/topics/accuracy=0.5"));
}

TEST_F(ProbeEventsTest, AResumedJobAddsWhatWasNotStored) {
  {
    ProbeEvents events(*storage_, directory_);
    events.add({report(0, "topics", 0.25)}, 1.7e9);
    events.flush();
  }
  ProbeEvents events(*storage_, directory_);
  events.restore({report(0, "topics", 0.125), report(5, "topics", 0.5)}, 1.7e9);
  events.flush();
  EXPECT_THAT(contents(),
              ElementsAre("events.out.tfevents.0000000000.probe: 0 probe/topics/loss=0.5 "
                          "probe/topics/accuracy=0.25",
                          "events.out.tfevents.0000000005.probe: 5 probe/topics/loss=0.5 "
                          "probe/topics/accuracy=0.5"));
}

}  // namespace
}  // namespace berth
