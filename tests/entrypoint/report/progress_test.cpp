#include "entrypoint/report/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "entrypoint/report/progress_lines.h"
#include "entrypoint/report/standard_streams.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class JsonLinesTest : public testing::Test {
 protected:
  std::string out_;
  const Write write_ = [this](std::string_view text) { out_ += text; };
  const Clock clock_ = [] { return 1769903999.125; };
  JsonLines lines_{write_, clock_};
};

constexpr const char* kTime = R"({"time":"2026-01-31T23:59:59.125Z",)";

TEST_F(JsonLinesTest, LoggedStepIsOneLine) {
  lines_.on_step({.step = 1, .total_steps = 4, .log = false});
  EXPECT_EQ(out_, "");
  lines_.on_step({.step = 2,
                  .total_steps = 4,
                  .epoch = 0.5,
                  .loss = 9,
                  .interval_loss = 0.25,
                  .learning_rate = 4.1e-5,
                  .grad_norm = 1.0 / 3,
                  .examples_per_second = 412.5,
                  .tokens_per_second = 20000,
                  .log = true});
  EXPECT_EQ(
      out_,
      std::string(kTime) +
          R"("event":"step","severity":"INFO",)"
          R"("message":"update 2 of 4: loss 0.25, 412.5 examples/s","step":2,"total_steps":4,"epoch":0.5,)"
          R"("loss":0.25,"learning_rate":4.1e-05,"grad_norm":0.3333333,)"
          R"("examples_per_second":412.5,"tokens_per_second":20000.0})"
          "\n");
}

TEST_F(JsonLinesTest, EachProbeIsOneLine) {
  lines_.on_probes({});
  EXPECT_EQ(out_, "");
  lines_.on_probes({{.step = 20,
                     .name = "topics",
                     .metric = "accuracy",
                     .metrics = {{"accuracy", 0.75}},
                     .loss = 0.5,
                     .examples = 80,
                     .seconds = 1.25}});
  EXPECT_EQ(
      out_,
      std::string(kTime) +
          R"("event":"probe","severity":"INFO",)"
          R"("message":"probe topics after update 20: loss 0.5, accuracy 0.75","step":20,"name":"topics",)"
          R"("examples":80,"loss":0.5,"accuracy":0.75,"seconds":1.25})"
          "\n");
}

TEST_F(JsonLinesTest, AStepOfAnAcceleratorTellsItsUseAndMemory) {
  StepReport step{.flops_per_second = 1e12, .log = true};
  lines_.on_step(step);
  EXPECT_THAT(out_, testing::HasSubstr(R"("flops_per_second":1000000000000.0})"));
  step.peak_flops_per_second = 4e12;
  step.device_memory = {.in_use = 5, .peak_in_use = 7, .limit = 100};
  lines_.on_step(step);
  EXPECT_THAT(out_,
              testing::HasSubstr(R"("flops_utilization":0.25,"device_bytes_in_use":5,)"
                                 R"("device_peak_bytes_in_use":7,"device_limit_bytes":100})"));
}

TEST_F(JsonLinesTest, EvaluationCarriesItsMetricsByName) {
  lines_.on_evaluation({.step = 4,
                        .epoch = 1,
                        .examples = 10,
                        .loss = NAN,
                        .seconds = 0.5,
                        .metrics = {{"accuracy", 0.75}, {"f1", INFINITY}},
                        .majority_rate = 0.25,
                        .split = "eval"});
  EXPECT_EQ(
      out_,
      std::string(kTime) +
          R"("event":"evaluation","severity":"INFO",)"
          R"("message":"eval after update 4: loss nan, accuracy 0.75, f1 inf","step":4,"epoch":1.0,)"
          R"("split":"eval","examples":10,"loss":null,"accuracy":0.75,"f1":null,)"
          R"("majority_rate":0.25,"seconds":0.5})"
          "\n");
}

TEST_F(JsonLinesTest, StartCheckpointAndFinishAreLines) {
  lines_.on_start({.train_examples = 9, .kernels = "avx2"});
  EXPECT_THAT(out_, testing::HasSubstr(R"("event":"start")"));
  EXPECT_THAT(out_, testing::HasSubstr(R"("train_examples":9)"));
  out_.clear();
  lines_.on_checkpoint({.step = 4, .where = "out/\xff", .size_bytes = 12, .seconds = 0.5});
  EXPECT_EQ(out_, std::string(kTime) + R"("event":"checkpoint","severity":"INFO",)"
                                       R"("message":"checkpoint of update 4 in out/)"
                                       "\xef\xbf\xbd"
                                       R"(","step":4,"where":"out/)"
                                       "\xef\xbf\xbd"
                                       R"(","size_bytes":12,"seconds":0.5})"
                                       "\n");
  out_.clear();
  lines_.on_finish();
  EXPECT_EQ(out_, std::string(kTime) + R"("event":"finish","severity":"INFO",)"
                                       R"("message":"computing is finished"})"
                                       "\n");
}

TEST_F(JsonLinesTest, ALogLineIsAnEvent) {
  const LogSink sink = json_log_sink(LogLevel::kWarning, write_, clock_);
  sink(LogLevel::kInfo, "quiet");
  EXPECT_EQ(out_, "");
  sink(LogLevel::kWarning, "a \"b\"\n");
  EXPECT_EQ(out_, std::string(kTime) +
                      R"("event":"log","severity":"WARNING","message":"a \"b\"\n"})"
                      "\n");
}

TEST(LogOutput, AutoIsTextOnATerminal) {
  EXPECT_TRUE(wants_text("auto", true));
  EXPECT_FALSE(wants_text("auto", false));
  EXPECT_TRUE(wants_text("text", false));
  EXPECT_FALSE(wants_text("json", true));
}

TEST(LogOutput, ScopedSinkIsTheProgramsSink) {
  std::string out;
  {
    const ScopedLogSink scoped([&](LogLevel, const std::string& line) { out += line; });
    log_info("heard");
  }
  EXPECT_EQ(out, "heard");
}

TEST(Clock, TimeIsIso8601) {
  EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(iso_time(951782400.0), "2000-02-29T00:00:00.000Z");
}

class ProgressTest : public testing::Test {
 protected:
  // Returns the output that `act` causes.
  template <typename Act>
  std::string shown(const Act& act) {
    out_.clear();
    act();
    return out_;
  }
  void start(int64_t steps_per_epoch, double epochs) {
    total_ = std::llround(static_cast<double>(steps_per_epoch) * epochs);
    steps_per_epoch_ = steps_per_epoch;
    progress().on_start({.train_examples = 9000,
                         .eval_examples = 1000,
                         .parameters = 4386436,
                         .total_steps = total_,
                         .batch_size = 32,
                         .num_labels = 4,
                         .epochs = epochs,
                         .peak_learning_rate = 7.3e-4,
                         .kernels = "avx2"});
  }
  std::string step(int64_t number, bool log = false) {
    return shown([&] {
      progress().on_step(
          {.step = number,
           .total_steps = total_,
           .epoch = static_cast<double>(number) / static_cast<double>(steps_per_epoch_),
           .loss = 0.5,
           .interval_loss = 0.5123,
           .learning_rate = 4.1e-5,
           .examples_per_second = 412,
           .log = log});
    });
  }
  std::string evaluation(int64_t number) {
    return shown([&] {
      progress().on_evaluation({.step = number,
                                .loss = 0.41,
                                .metrics = {{"accuracy", 0.853}},
                                .majority_rate = 0.25,
                                .split = "validation"});
    });
  }
  Progress& progress() {
    if (!progress_) {
      line_.emplace([this](std::string_view text) { out_ += text; }, is_terminal_);
      progress_.emplace(
          *line_, [this] { return columns_; }, [this] { return now_s_; });
    }
    return *progress_;
  }

  bool is_terminal_ = true;
  int columns_ = 100;
  double now_s_ = 0;
  std::string out_;
  int64_t total_ = 0, steps_per_epoch_ = 0;
  std::optional<TerminalLine> line_;
  std::optional<Progress> progress_;
};

TEST_F(ProgressTest, BarShowsWhereTheEpochStands) {
  start(282, 3);
  EXPECT_EQ(step(125),
            "\r\x1b[KEpoch 1/3  125/282 [============>.................] 44%  412 ex/s  ETA 0:56  "
            "loss 0.512  lr 4.1e-05");
}

TEST_F(ProgressTest, BarIsRedrawnAtMostTenTimesASecond) {
  start(282, 3);
  EXPECT_NE(step(1), "");
  now_s_ = 0.05;
  EXPECT_EQ(step(2), "");
  now_s_ = 0.11;
  EXPECT_THAT(step(3), HasSubstr("3/282"));
}

TEST_F(ProgressTest, BarFitsTheWindow) {
  start(282, 3);
  for (columns_ = 1; columns_ < 140; ++columns_) {
    now_s_ += 1;
    EXPECT_LT(step(125).size(), static_cast<size_t>(std::max(columns_, 2)) + 4) << columns_;
  }
  columns_ = 50;
  now_s_ += 1;
  EXPECT_EQ(step(125), "\r\x1b[KEpoch 1/3  125/282 44%  412 ex/s  ETA 0:56");
}

TEST_F(ProgressTest, EpochEndsInALineWithItsEvaluation) {
  start(10, 2);
  now_s_ = 65;
  step(10);
  EXPECT_THAT(shown([&] { progress().on_evaluating(10, 100); }), testing::Not(HasSubstr("\n")));
  EXPECT_EQ(evaluation(10),
            "\r\x1b[K  epoch      update    time   ex/s    loss  eval loss  accuracy\n"
            "    1/2       10/10    1:05    412  0.5000     0.4100    0.8530\n");
  now_s_ = 66;
  EXPECT_THAT(step(11), HasSubstr("Epoch 2/2  1/10"));
}

TEST_F(ProgressTest, ASmallLastBatchCountsByItsLabels) {
  start(2, 1);
  for (const bool is_last : {false, true}) {
    progress().on_step({.step = is_last ? 2 : 1,
                        .total_steps = 2,
                        .epoch = is_last ? 1 : 0.5,
                        .loss = is_last ? 2.0 : 1.0,
                        .loss_weight = is_last ? 2.0 : 8.0,
                        .examples_per_second = 412});
  }
  EXPECT_THAT(evaluation(2), HasSubstr("  1.2000  "));  // (8 + 2 * 2) / 10
}

TEST_F(ProgressTest, EpochWithoutEvaluationStillEndsInALine) {
  start(10, 2);
  step(10);
  EXPECT_THAT(step(11), HasSubstr("    1/2       10/10    0:00    412  0.5000          -\n"));
  now_s_ = 1;
  step(20);
  EXPECT_THAT(shown([&] { progress().on_finish(); }), HasSubstr("    2/2       10/10"));
}

TEST_F(ProgressTest, LastEpochMayBeAFraction) {
  start(10, 1.5);
  EXPECT_THAT(step(12), HasSubstr("Epoch 2/2  2/5 "));
}

TEST_F(ProgressTest, EvaluationInsideAnEpochNamesItsUpdate) {
  start(10, 2);
  step(4);
  EXPECT_THAT(evaluation(4), HasSubstr("      -           4       -      -       -     0.4100"));
}

TEST_F(ProgressTest, WithoutATerminalEachEpochSaysWhatItsNumbersAre) {
  is_terminal_ = false;
  start(10, 2);
  step(4);
  EXPECT_THAT(evaluation(4), testing::StartsWith("Update 4  eval loss 0.4100  accuracy 0.8530"));
  now_s_ = 65;
  step(10);
  EXPECT_EQ(evaluation(10),
            "Epoch 1/2  10/10  1:05  412 ex/s  loss 0.5000  eval loss 0.4100  accuracy 0.8530  "
            "(always the most frequent class: 0.2500)\n");
}

TEST(EpochTable, FitsTheWidthAndRepeatsNoHeadings) {
  EpochTable table;
  EpochRow row{.epoch = "1/3", .update = "113/113", .time = "1:05", .rate = "412"};
  row.metrics = {{"accuracy", 0.5}, {"f1", 0.25}, {"matthews_correlation", 0.1}, {"precision", 1}};
  for (const int columns : {60, 80, 200}) {
    const std::vector<std::string> lines = table.lines(row, columns);
    ASSERT_EQ(lines.size(), 2u) << columns;
    EXPECT_EQ(lines[0].size(), lines[1].size());
    EXPECT_LE(lines[0].size(), static_cast<size_t>(std::max(columns, 63))) << columns;
  }
  EXPECT_EQ(table.lines(row, 200).size(), 1u);
  EXPECT_THAT(table.lines(row, 200)[0], testing::EndsWith("0.1000     1.0000"));
}

TEST_F(ProgressTest, EachProbeIsALine) {
  start(10, 2);
  EXPECT_EQ(shown([&] { progress().on_probing("topics"); }), "\r\x1b[KProbing topics");
  EXPECT_EQ(shown([&] {
              progress().on_probes({{.step = 4,
                                     .name = "topics",
                                     .metric = "accuracy",
                                     .metrics = {{"accuracy", 0.75}, {"f1_macro", 0.5}},
                                     .examples = 80,
                                     .seconds = 1.25}});
            }),
            "\r\x1b[KUpdate 4  probe topics  accuracy 0.7500  f1_macro 0.5000  (80 examples, 1.2 "
            "s)\n");
}

TEST_F(ProgressTest, EvaluationUnderWayIsShown) {
  EXPECT_EQ(shown([&] { progress().on_evaluating(512, 3000); }),
            "\r\x1b[KEvaluating  512/3000 [====>.........................] 17%");
}

TEST(TerminalLine, LinesAreWrappedBetweenWords) {
  std::string out;
  int columns = 20;
  TerminalLine line([&](std::string_view text) { out += text; }, /*redraws=*/true,
                    [&] { return columns; });
  line.print("twenty columns are .");
  EXPECT_EQ(std::exchange(out, ""), "twenty columns are .\n");
  line.print("one word more than fits into the line");
  EXPECT_EQ(std::exchange(out, ""), "one word more than\n    fits into the\n    line\n");
  line.print("see /a/path/that/is/longer/than/the/line for more");
  EXPECT_EQ(std::exchange(out, ""),
            "see\n    /a/path/that/is/longer/than/the/line\n    for more\n");
  line.print("größer größer größer");
  EXPECT_EQ(std::exchange(out, ""), "größer größer größer\n");
}

TEST_F(ProgressTest, LogLinesStandAboveTheBar) {
  start(282, 3);
  const std::string bar = step(125).substr(4);
  const LogSink sink = text_log_sink(LogLevel::kInfo, *line_);
  EXPECT_EQ(shown([&] { sink(LogLevel::kWarning, "slow disk"); }),
            "\r\x1b[Kwarning: slow disk\n" + bar);
  EXPECT_EQ(shown([&] { sink(LogLevel::kDebug, "detail"); }), "");
}

TEST_F(ProgressTest, BarIsErasedAtTheEnd) {
  start(282, 3);
  step(125);
  EXPECT_EQ(shown([&] { progress_.reset(), line_.reset(); }), "\r\x1b[K");
}

TEST_F(ProgressTest, SaysWhatTheLearningRateWasChosenFor) {
  EXPECT_THAT(shown([&] {
                progress().on_start({.peak_learning_rate = 5e-4,
                                     .learning_rate_is_for = "random parameters 256 wide"});
              }),
              HasSubstr("; learning rate 0.0005 (for random parameters 256 wide)"));
}

TEST_F(ProgressTest, WithoutATerminalLoggedStepsAreLines) {
  is_terminal_ = false;
  EXPECT_EQ(shown([&] { start(282, 3); }),
            "9000 examples to train on, 1000 to evaluate on, 4 labels; 4386436 parameters; 846 "
            "updates of 32; learning rate 0.00073; kernels avx2\n");
  EXPECT_EQ(step(124), "");
  EXPECT_EQ(step(125, true), "Epoch 1/3  125/282  412 ex/s  ETA 0:56  loss 0.512  lr 4.1e-05\n");
  EXPECT_EQ(shown([&] { progress().on_evaluating(1, 2); }), "");
  EXPECT_EQ(
      shown([&] {
        progress().on_checkpoint({.step = 5, .where = "c/5", .size_bytes = 2048, .seconds = 0.21});
      }),
      "Checkpoint c/5  2.0 KiB  0.2 s\n");
}

TEST_F(ProgressTest, LoggedStepsTellTheUseOfTheDeviceAndItsMemory) {
  is_terminal_ = false;
  start(282, 3);
  StepReport step{.step = 1, .total_steps = 846, .epoch = 1.0 / 282, .log = true};
  const auto line = [&] { return shown([&] { progress().on_step(step); }); };
  step.flops_per_second = 85.34e9;
  EXPECT_THAT(line(), testing::EndsWith("  85.3 GFLOP/s\n"));
  step.flops_per_second = 75.6e12;
  step.peak_flops_per_second = 197e12;
  step.device_memory = {.in_use = uint64_t{3} << 30};
  EXPECT_THAT(line(), testing::EndsWith("  75.6 TFLOP/s (38% of peak)  3.0 GiB on the device\n"));
  step.device_memory->peak_in_use = uint64_t{4} << 30;
  step.device_memory->limit = uint64_t{16} << 30;
  EXPECT_THAT(line(), testing::EndsWith("  at most 4.0 GiB of 16.0 GiB on the device\n"));
}

TEST_F(ProgressTest, OneUpdateIsInTheSingular) {
  EXPECT_THAT(shown([&] { start(1, 1); }), HasSubstr("; 1 update of 32; "));
}

TEST(BarLine, NonFiniteNumbersAreDashes) {
  EXPECT_EQ(number_text("%.3f", NAN), "-");
  EXPECT_EQ(duration_text(INFINITY), "-");
  EXPECT_EQ(duration_text(-1), "-");
  EXPECT_EQ(duration_text(59.6), "1:00");
  EXPECT_EQ(duration_text(3661), "1:01:01");
  EXPECT_EQ(bar_line("x", NAN, {}, 80), "x [..............................] 0%");
  EXPECT_EQ(bar_line("x", 1, {}, 80), "x [==============================] 100%");
}

// The warnings at the end of 100 updates, the loss of which is `loss(step)`.
std::vector<std::string> warnings(const std::function<double(int64_t)>& loss,
                                  const EvaluationReport& evaluation, int64_t first_step = 0) {
  std::vector<std::string> seen;
  const ScopedLogSink sink([&](LogLevel level, const std::string& text) {
    if (level == LogLevel::kWarning) seen.push_back(text);
  });
  Verdict verdict;
  verdict.on_start({.first_step = first_step, .total_steps = 100, .peak_learning_rate = 2e-2});
  for (int64_t step = first_step + 1; step <= 100; ++step) {
    verdict.on_step({.step = step, .loss = loss(step)});
  }
  verdict.on_evaluation(evaluation);
  verdict.on_finish();
  return seen;
}

EvaluationReport accuracy(double value) {
  return {.metrics = {{"accuracy", value}}, .majority_rate = 0.25};
}

double falling(int64_t step) { return 2.0 / static_cast<double>(step); }
double growing(int64_t step) { return 0.02 * static_cast<double>(step); }

TEST(Verdict, ALossThatGrewNamesASmallerRate) {
  EXPECT_THAT(warnings(growing, accuracy(0.9)),
              ElementsAre(HasSubstr("the loss grew from 0.11 to 1.91: the learning rate 0.02 is "
                                    "probably too high; try --learning-rate 0.002")));
}

TEST(Verdict, AnAccuracyOfTheMajorityIsNamed) {
  EXPECT_THAT(warnings(falling, accuracy(0.25)),
              ElementsAre(HasSubstr("the accuracy 0.2500 is no better than always predicting the "
                                    "most frequent class (0.2500)")));
}

TEST(Verdict, IsSilentWhereTheModelLearnt) {
  EXPECT_THAT(warnings(falling, accuracy(0.9)), IsEmpty());
  EXPECT_THAT(warnings(falling, {.metrics = {{"f1_micro", 0.1}}}), IsEmpty());
}

TEST(Verdict, FewUpdatesHaveNoTrend) {
  EXPECT_THAT(warnings(growing, accuracy(0.9), /*first_step=*/85), IsEmpty());
}

// Modes without training say nothing.
TEST(Verdict, AnEvaluationAloneIsNoTraining) {
  std::vector<std::string> seen;
  const ScopedLogSink sink([&](LogLevel, const std::string& text) { seen.push_back(text); });
  Verdict verdict;
  verdict.on_evaluation(accuracy(0.25));
  verdict.on_finish();
  EXPECT_THAT(seen, IsEmpty());
}

}  // namespace
}  // namespace berth
