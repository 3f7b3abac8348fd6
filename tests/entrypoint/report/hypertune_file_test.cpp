#include "entrypoint/report/hypertune_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "entrypoint/flags/command_line.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

class HypertuneFileTest : public testing::Test {
 protected:
  void evaluate(HypertuneFile& file, int64_t step, double accuracy) {
    file.on_evaluation({.step = step,
                        .loss = 0.5,
                        .metrics = {{"accuracy", accuracy}, {"f1", 0.25}},
                        .split = "eval"});
  }

  ScratchDirectory scratch_;
  const Clock clock_ = [] { return 1525851440.123456; };
  const std::string path_ = scratch_ / "new/folder/output.metrics";
};

// The lines are what cloudml-hypertune 0.1.0.dev6's json.dumps(..., sort_keys=True) writes.
TEST_F(HypertuneFileTest, WritesWhatThePythonPackageWrites) {
  HypertuneFile file({.trial = "7", .metric_file = path_, .metric_tag = "score"}, "accuracy",
                     clock_);
  evaluate(file, 1000, 0.987);
  EXPECT_EQ(read_text(path_), R"({"checkpoint_path": "", "global_step": "1000", "score": "0.987", )"
                              R"("timestamp": 1525851440.123456, "trial": "7"})"
                              "\n");
}

TEST_F(HypertuneFileTest, TheTagSortsAmongTheOtherKeys) {
  HypertuneFile file({.trial = "", .metric_file = path_, .metric_tag = ""}, "accuracy", clock_);
  evaluate(file, 3, 1);
  EXPECT_EQ(read_text(path_), R"({"accuracy": "1.0", "checkpoint_path": "", "global_step": "3", )"
                              R"("timestamp": 1525851440.123456, "trial": "0"})"
                              "\n");
}

TEST_F(HypertuneFileTest, EscapesWhatIsNotAscii) {
  HypertuneFile file({.trial = "1", .metric_file = path_, .metric_tag = "é\t\"/\x7f€😀"}, "accuracy",
                     clock_);
  evaluate(file, 3, 0.5);
  EXPECT_EQ(read_text(path_),
            R"({"checkpoint_path": "", "global_step": "3", "timestamp": 1525851440.123456, )"
            R"("trial": "1", "\u00e9\t\"/\u007f\u20ac\ud83d\ude00": "0.5"})"
            "\n");
}

TEST_F(HypertuneFileTest, KeepsTheNewestHundred) {
  HypertuneFile file({.trial = "1", .metric_file = path_, .metric_tag = ""}, "loss", clock_);
  for (int64_t step = 1; step <= 103; ++step) evaluate(file, step, 0.5);
  const std::string text = read_text(path_);
  EXPECT_EQ(std::ranges::count(text, '\n'), 100);
  EXPECT_THAT(text, testing::StartsWith(R"({"checkpoint_path": "", "global_step": "4", "loss")"));
  EXPECT_THAT(text, testing::HasSubstr(R"("global_step": "103", "loss": "0.5")"));
}

TEST_F(HypertuneFileTest, WritesToNothingElse) {
  const std::string victim = scratch_ / "victim";
  write_text(victim, "precious");
  const auto warning_at = [&](const std::string& path) {
    const CapturedLog log;
    HypertuneFile file({.trial = "1", .metric_file = path, .metric_tag = ""}, "accuracy", clock_);
    evaluate(file, 1, 0.5);
    return log.warnings();
  };
  std::filesystem::create_symlink(victim, scratch_ / "link");
  std::filesystem::create_hard_link(victim, scratch_ / "name");
  ASSERT_EQ(::mkfifo((scratch_ / "fifo").c_str(), 0600), 0);
  for (const char* name : {"link", "name", "fifo"}) {
    EXPECT_THAT(warning_at(scratch_ / name), testing::HasSubstr("could not be written")) << name;
  }
  EXPECT_EQ(read_text(victim), "precious");
}

TEST_F(HypertuneFileTest, AFailureToWriteIsAWarning) {
  const CapturedLog log;
  HypertuneFile file({.trial = "1", .metric_file = "/proc/none/x", .metric_tag = ""}, "accuracy",
                     clock_);
  evaluate(file, 1, 0.5);
  EXPECT_THAT(log.warnings(), testing::HasSubstr("could not be written to /proc/none/x"));
}

TEST(HypertuneMetric, IsThatOfTheFlagOrTheTagOrTheBestModel) {
  const std::vector<std::string> metrics = {"accuracy", "f1"};
  EXPECT_EQ(hypertune_metric({}, "", "", metrics), "accuracy");
  EXPECT_EQ(hypertune_metric({}, "", "eval_f1", metrics), "f1");
  EXPECT_EQ(hypertune_metric({.metric_tag = "f1"}, "", "accuracy", metrics), "f1");
  EXPECT_EQ(hypertune_metric({.metric_tag = "my score"}, "", "f1", metrics), "f1");
  EXPECT_EQ(hypertune_metric({.metric_tag = "f1"}, "eval_loss", "", metrics), "loss");
  EXPECT_THAT(
      [&] { hypertune_metric({}, "mse", "", metrics); },
      ThrowsCode(Code::kUsage, R"("mse" is not a metric of this task; its metrics are loss, acc)"));
}

TEST(HypertuneMetric, IsWrittenForAServiceOrAUser) {
  const auto is_tuned = [](const Tuning& tuning, const std::string& asked = "") {
    CommandLine command_line;
    command_line.tuning = tuning;
    command_line.settings.output.hypertune_metric = asked;
    return command_line.is_tuned();
  };
  EXPECT_FALSE(is_tuned({}));
  EXPECT_FALSE(is_tuned({.metric_tag = "f1"}));
  EXPECT_TRUE(is_tuned({.trial = "1"}));
  EXPECT_TRUE(is_tuned({.metric_file = "/tmp/x"}));
  EXPECT_TRUE(is_tuned({}, "f1"));
}

// Each expected text is what Python's str() makes of the number.
TEST(PythonText, HasTheDigitsOfPython) {
  EXPECT_EQ(python_text(0.1), "0.1");
  EXPECT_EQ(python_text(0), "0.0");
  EXPECT_EQ(python_text(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(python_text(1e-4), "0.0001");
  EXPECT_EQ(python_text(1e-5), "1e-05");
  EXPECT_EQ(python_text(-2.5e-7), "-2.5e-07");
  EXPECT_EQ(python_text(1e15), "1000000000000000.0");
  EXPECT_EQ(python_text(1e16), "1e+16");
  EXPECT_EQ(python_text(1.5e300), "1.5e+300");
  EXPECT_EQ(python_text(NAN), "nan");
  EXPECT_EQ(python_text(-INFINITY), "-inf");
}

}  // namespace
}  // namespace berth
