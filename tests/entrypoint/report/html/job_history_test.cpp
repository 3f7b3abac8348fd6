#include "entrypoint/report/html/job_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "entrypoint/report/html/job_page.h"
#include "entrypoint/report/html/page.h"
#include "tests/support/well_formed.h"

namespace berth {
namespace {

using testing::ElementsAre;

StepCurve::Update update(int64_t step, double loss = 1) {
  return {.step = step,
          .loss = loss,
          .learning_rate = 1e-4,
          .examples = 8,
          .tokens = 100,
          .seconds = 0.5};
}

int64_t updates_in(const StepCurve& curve) {
  int64_t sum = 0;
  for (const StepBucket& bucket : curve.buckets()) sum += bucket.updates;
  return sum;
}

TEST(StepCurve, StaysBoundedAndKeepsPeaks) {
  StepCurve curve;
  for (int64_t step = 1; step <= 5000; ++step) {
    curve.add(update(step, step == 1234 ? 9.5 : step == 4321 ? 0.125 : 1));
  }
  EXPECT_LE(curve.buckets().size(), StepCurve::kMost);
  EXPECT_GE(curve.buckets().size(), StepCurve::kMost / 2);
  EXPECT_EQ(updates_in(curve), 5000);
  EXPECT_EQ(std::ranges::max(curve.buckets(), {}, &StepBucket::most_loss).most_loss, 9.5);
  EXPECT_EQ(std::ranges::min(curve.buckets(), {}, &StepBucket::least_loss).least_loss, 0.125);
  for (size_t i = 1; i < curve.buckets().size(); ++i) {
    EXPECT_EQ(curve.buckets()[i].first, curve.buckets()[i - 1].last + 1);
  }
}

TEST(StepCurve, HasNeitherAGapNorAPointTwiceAfterAResumption) {
  StepCurve curve;
  for (int64_t step = 1; step <= 1000; ++step) curve.add(update(step));  // buckets of two
  StepCurve resumed = StepCurve::from_json(parse_json(to_text(curve.to_json())));
  resumed.forget_after(701);
  for (int64_t step = 702; step <= 1000; ++step) resumed.add(update(step));
  EXPECT_EQ(updates_in(resumed), 1000);
  EXPECT_EQ(to_text(resumed.to_json()), to_text(curve.to_json()));
}

TEST(StepCurve, LeavesOutWhatIsNotFinite) {
  StepCurve curve;
  curve.add(update(1, 0.0 / 0.0));
  EXPECT_TRUE(curve.buckets().empty());
}

TEST(StepCurve, OfDamagedJsonIsEmpty) {
  for (const char* damaged :
       {"[]", "{}", R"({"width":0,"buckets":[]})", R"({"width":1,"buckets":[[1]]})",
        R"({"width":1,"buckets":[[1,1,1,"x",1,1,1,1,1,1]]})",
        R"({"width":1,"buckets":[[2,1,1,1,1,1,1,1,1,1]]})",
        R"({"width":1,"buckets":[[2,2,1,1,1,1,1,1,1,1],[2,3,1,1,1,1,1,1,1,1]]})",
        R"({"width":1e300,"buckets":[[1,1e300,1,1,1,1,1,1,1,1]]})"}) {
    EXPECT_TRUE(StepCurve::from_json(parse_json(damaged)).buckets().empty()) << damaged;
  }
}

JobHistory example_history() {
  JobHistory history{.total_steps = 60, .metric = "accuracy"};
  history.begin_attempt(0, 1000);
  for (int64_t step = 1; step <= 50; ++step) history.curve.add(update(step));
  history.add({.step = 20, .epoch = 1, .loss = 0.5, .metrics = {{"accuracy", 0.75}}});
  history.add({.step = 40, .epoch = 2, .loss = 0.25, .metrics = {{"accuracy", 0.5}}});
  history.add_checkpoint(20);
  history.add_checkpoint(40);
  history.attempts.back().until_s = 1060;
  return history;
}

TEST(JobHistory, IsReadBackFromItsPage) {
  const JobHistory history = example_history();
  const std::string page = html_page("t", "<p>body</p>", json_for_block(history.to_json()));
  EXPECT_EQ(JobHistory::from_page(page).to_json(), history.to_json());
}

TEST(JobHistory, ForgetsWhatAResumedProcessDoesAgain) {
  JobHistory history = example_history();
  history.begin_attempt(20, 2000);
  EXPECT_EQ(updates_in(history.curve), 20);
  ASSERT_EQ(history.evaluations.size(), 1u);
  EXPECT_EQ(history.evaluations[0].step, 20);
  EXPECT_THAT(history.checkpoints, ElementsAre(20));
  history.attempts.back().until_s = 2030;
  EXPECT_EQ(history.seconds(), 90);
}

TEST(JobHistory, KnowsTheBestEvaluation) {
  JobHistory history = example_history();
  EXPECT_EQ(history.best()->step, 20);
  history.metric = "loss";
  EXPECT_EQ(history.best()->step, 40);
  history.metric = "pearson";
  EXPECT_EQ(history.best(), nullptr);
}

TEST(JobHistory, OfManyMarksStaysBounded) {
  JobHistory history;
  for (int64_t step = 1; step <= 5000; ++step) {
    history.add({.step = step});
    history.add_checkpoint(step);
  }
  EXPECT_LE(history.evaluations.size(), JobHistory::kMostEvaluations);
  EXPECT_LE(history.checkpoints.size(), JobHistory::kMostMarks);
  EXPECT_EQ(history.evaluations.front().step, 1);
  EXPECT_EQ(history.evaluations.back().step, 5000);
}

TEST(JobHistory, OfAnotherFileIsEmpty) {
  const std::string begin(kHistoryBegin);
  for (const std::string& page :
       {std::string("no report"), begin, begin + "</script>", begin + "[1]</script>",
        begin + R"({"format":1,"attempts":[3],"evaluations":{"a":1},"curve":7}</script>)",
        begin + R"({"format":2,"total_steps":9}</script>)"}) {
    const JobHistory history = JobHistory::from_page(page);
    EXPECT_TRUE(history.curve.buckets().empty() && history.evaluations.empty()) << page;
    EXPECT_EQ(history.total_steps, 0) << page;
  }
}

// A job begins with what the report holds, and --mode report shows it.
TEST(JobHistory, OfADamagedPageIsShown) {
  const std::string whole = html_page("t", "", json_for_block(example_history().to_json()));
  const size_t begin = whole.find(kHistoryBegin);
  const auto check = [](const std::string& damaged, size_t at) {
    const JobHistory history = JobHistory::from_page(damaged);
    const std::string shown = curve_section(history, std::nullopt);
    EXPECT_EQ(xml_problem(shown), "") << at;
    const std::string again = json_for_block(history.to_json());
    EXPECT_EQ(JobHistory::from_page(html_page("t", "", again)).to_json(), history.to_json()) << at;
  };
  for (size_t at = begin; at < whole.size(); at += 23) check(whole.substr(0, at), at);
  for (size_t at = begin; at < whole.size(); at += 17) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    check(damaged, at);
  }
}

// Ticks end, too, where the axis ends at the largest number or its steps are next to nothing.
TEST(JobHistory, OfTheLargestAndTheSmallestLossIsShown) {
  for (const double loss : {1.7e308, -1.7e308, 5e-324, -5e-324}) {
    JobHistory history;
    for (int64_t step = 1; step <= 3; ++step) history.curve.add(update(step, loss));
    EXPECT_LT(curve_section(history, std::nullopt).size(), 100'000u) << loss;
    history.add({.step = 1, .loss = -loss});
    EXPECT_LT(curve_section(history, std::nullopt).size(), 100'000u) << loss;
  }
}

}  // namespace
}  // namespace berth
