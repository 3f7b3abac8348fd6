#include "entrypoint/report/html_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "storage/base/error.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/well_formed.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

// Local files, also for gs:// URIs. Counts what is written.
class CountedFiles final : public BorrowedStorage {
 public:
  CountedFiles(Storage& files, std::string directory)
      : BorrowedStorage(files), directory_(std::move(directory)) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    return BorrowedStorage::open(local(uri), options);
  }
  std::optional<Stat> stat(const Uri& uri) override { return BorrowedStorage::stat(local(uri)); }
  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    ++tries;
    if (fails) throw Error(Code::kUnavailable, "no answer", uri.to_string());
    return BorrowedStorage::create(local(uri), options);
  }

  bool fails = false;
  int tries = 0;

 private:
  Uri local(const Uri& uri) const { return Uri::parse(directory_) / uri.file_name(); }
  const std::string directory_;
};

class HtmlReportTest : public testing::Test {
 protected:
  HtmlReport& begin(const std::string& file, int64_t first_step = 0) {
    report_.emplace(storage_,
                    HtmlReportOptions{.file = Uri::parse(file),
                                      .facts = {.name = "job"},
                                      .metric = "accuracy",
                                      .probes = probes_,
                                      .wall_clock = [this] { return 1.75e9 + now_s_; },
                                      .steady_clock = [this] { return now_s_; },
                                      .sleep = [this](double seconds) { slept_s_ += seconds; }});
    report_->on_start({.first_step = first_step, .total_steps = 40});
    return *report_;
  }
  HtmlReport& begin_local(int64_t first_step = 0) {
    return begin(scratch_ / "report.html", first_step);
  }
  void steps(int64_t from, int64_t to) {
    for (int64_t step = from; step <= to; ++step) {
      report_->on_step({.step = step,
                        .total_steps = 40,
                        .loss = 0.5,
                        .examples = 4,
                        .tokens = 60,
                        .seconds = 0.25});
    }
  }
  void evaluate(int64_t step) {
    report_->on_evaluation(
        {.step = step, .examples = 10, .loss = 0.25, .metrics = {{"accuracy", 0.75}}});
    report_->wait();
  }
  std::string page() {
    return read_text(*files_, Uri::parse(scratch_ / "report.html")).value_or("");
  }

  const ScratchDirectory scratch_;
  const std::unique_ptr<Storage> files_ = make_local_storage();
  CountedFiles storage_{*files_, scratch_.path()};
  double now_s_ = 0, slept_s_ = 0;
  std::vector<ProbeReport> probes_;
  CapturedLog log_;
  std::optional<HtmlReport> report_;
};

TEST_F(HtmlReportTest, IsThereAfterAnEvaluationAndAtTheEnd) {
  begin_local();
  steps(1, 20);
  EXPECT_EQ(page(), "");
  evaluate(20);
  EXPECT_EQ(xml_problem(page()), "");
  EXPECT_THAT(page(), HasSubstr("Training, update 20 of 40"));
  steps(21, 40);
  report_->on_finish();
  EXPECT_EQ(xml_problem(page()), "");
  EXPECT_THAT(page(), HasSubstr("Finished, exit code 0"));
}

TEST_F(HtmlReportTest, GoesOnWithTheCurvesOfAnEarlierProcess) {
  begin_local();
  steps(1, 20);
  evaluate(20);
  steps(21, 25);  // these are lost: the next process begins after update 20
  report_->on_checkpoint({.step = 20});
  report_->wait();
  report_->on_checkpoint({.step = 25});
  report_->ended({.code = exit_code(Code::kStopped), .what = "stopped by a signal"});
  EXPECT_THAT(page(), HasSubstr("Stopped at update 25 of 40, exit code 143"));
  begin_local(20);
  steps(21, 40);
  evaluate(40);
  report_->on_finish();
  const JobHistory history = JobHistory::from_page(page());
  ASSERT_EQ(history.curve.buckets().size(), 40u);
  for (int64_t i = 0; i < 40; ++i) {
    EXPECT_EQ(history.curve.buckets()[static_cast<size_t>(i)].first, i + 1);
  }
  EXPECT_EQ(history.evaluations.size(), 2u);
  EXPECT_THAT(history.checkpoints, testing::ElementsAre(20));
  EXPECT_THAT(page(), HasSubstr("resumed here"));
}

TEST_F(HtmlReportTest, HasEachScoreOfAProbeOnce) {
  const auto probe = [](int64_t step, double accuracy) {
    return ProbeReport{
        .step = step, .name = "topics", .metric = "accuracy", .metrics = {{"accuracy", accuracy}}};
  };
  begin_local();
  report_->on_probes({probe(0, 0.25)});
  steps(1, 25);
  report_->on_probes({probe(20, 0.5)});  // these are lost, as are the updates after 10
  report_->on_checkpoint({.step = 25});
  report_->wait();
  // The second one is in the checkpoint, but a page with it was not written.
  probes_ = {probe(0, 0.25), probe(10, 0.375)};
  begin_local(10);
  steps(11, 20);
  report_->on_probes({probe(20, 0.625)});
  report_->on_finish();
  const JobHistory history = JobHistory::from_page(page());
  ASSERT_EQ(history.probes.size(), 3u);
  EXPECT_EQ(history.probes[1].step, 10);
  EXPECT_EQ(history.probes[2].value, 0.625);
  EXPECT_THAT(page(), HasSubstr("topics, accuracy"));
}

TEST_F(HtmlReportTest, OfAJobThatBeginsAnewHasNothingOfTheOldOne) {
  begin_local();
  steps(1, 20);
  evaluate(20);
  report_->on_finish();
  begin_local();
  steps(1, 2);
  report_->on_finish();
  EXPECT_TRUE(JobHistory::from_page(page()).evaluations.empty());
}

TEST_F(HtmlReportTest, WarnsOnceWhereItCannotBeWrittenAndDoesNotFail) {
  storage_.fails = true;
  begin_local();
  for (int64_t step = 1; step <= 3; ++step) {
    now_s_ += 100;
    steps(step, step);
    evaluate(step);
  }
  const int tries = storage_.tries;
  EXPECT_EQ(tries, 3);
  const std::string& warnings = log_.warnings();
  EXPECT_THAT(warnings, HasSubstr("could not be written"));
  EXPECT_EQ(std::ranges::count(warnings, '\n'), 1);
  report_.reset();  // the end does not wait once more for storage that does not answer
  EXPECT_EQ(storage_.tries, tries);
}

TEST_F(HtmlReportTest, LetsASecondPassBetweenWritesToRemoteStorage) {
  begin("gs://bucket/job/report.html");
  steps(1, 1);
  evaluate(1);
  EXPECT_EQ(slept_s_, 0);
  report_->on_finish();
  EXPECT_EQ(slept_s_, 1);
}

TEST_F(HtmlReportTest, SaysThatAJobFailed) {
  begin_local();
  steps(1, 2);
  report_->ended({.code = 9, .what = "the loss <diverged>", .where = "x", .hint = "look"});
  report_.reset();
  EXPECT_THAT(page(), HasSubstr("Failed at update 2 of 40, exit code 9"));
  EXPECT_THAT(page(), HasSubstr("x: the loss &lt;diverged&gt;; look"));
  begin_local();
  steps(1, 2);
  report_.reset();
  EXPECT_THAT(page(), HasSubstr("the process ended before all results were written"));
}

}  // namespace
}  // namespace berth
