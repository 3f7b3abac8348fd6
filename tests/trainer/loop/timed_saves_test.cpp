#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_job.h"
#include "trainer/loop/saves.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SavePace, FollowsTheGivenMinutes) {
  double now_s = 0;
  SavePace pace(2, [&] { return now_s; });
  now_s = 119;
  EXPECT_FALSE(pace.due());
  now_s = 120;
  EXPECT_TRUE(pace.due());
  pace.restart();
  pace.took(100);
  EXPECT_FALSE(pace.due());
  now_s = 240;
  EXPECT_TRUE(pace.due());
}

TEST(SavePace, IsNeverDueWithZeroMinutes) {
  double now_s = 0;
  const SavePace pace(0, [&] { return now_s; });
  now_s = 1e9;
  EXPECT_FALSE(pace.due());
}

TEST(SavePace, ChoosesAHundredTimesTheCostWithinBounds) {
  SavePace pace({}, [] { return 0; });
  EXPECT_EQ(pace.interval_s(), 300);
  pace.took(0.1);
  EXPECT_EQ(pace.interval_s(), 300);
  pace.took(7);
  EXPECT_EQ(pace.interval_s(), 700);
  pace.took(60);
  EXPECT_EQ(pace.interval_s(), 1800);
}

TEST(SaveDue, FollowsTheStepsUnlessTheirStateIsSaved) {
  EXPECT_EQ(save_due({.save_steps = 5, .step = 10}), SaveDue::kBySteps);
  EXPECT_EQ(save_due({.save_steps = 5, .step = 11}), SaveDue::kNothing);
  EXPECT_EQ(save_due({.step = 10}), SaveDue::kNothing);
  EXPECT_EQ(save_due({.save_steps = 5, .step = 10, .is_saving = true}), SaveDue::kBySteps);
  EXPECT_EQ(save_due({.save_steps = 5, .step = 10, .saved_step = 10, .is_saved = true}),
            SaveDue::kNothing);
  // The step was saved before its evaluation, which changed the state.
  EXPECT_EQ(save_due({.save_steps = 5, .step = 10, .saved_step = 10}), SaveDue::kBySteps);
}

TEST(SaveDue, APostponedSaveWaitsForTheOneBeforeIt) {
  EXPECT_EQ(save_due({.step = 11, .is_saving = true, .is_owed = true}), SaveDue::kNothing);
  EXPECT_EQ(save_due({.step = 11, .is_owed = true}), SaveDue::kPostponed);
}

TEST(SaveDue, TimeCountsBetweenTheOtherSaves) {
  const SaveFacts facts{.step = 10, .last_step = 20, .saved_step = 5, .has_time_passed = true};
  EXPECT_EQ(save_due(facts), SaveDue::kByTime);
  const auto is_nothing = [&](auto change) {
    SaveFacts changed = facts;
    change(changed);
    return save_due(changed) == SaveDue::kNothing;
  };
  EXPECT_TRUE(is_nothing([](SaveFacts& f) { f.has_time_passed = false; }));
  EXPECT_TRUE(is_nothing([](SaveFacts& f) { f.is_saving = true; }));
  EXPECT_TRUE(is_nothing([](SaveFacts& f) { f.saved_step = 10; }));
  EXPECT_TRUE(is_nothing([](SaveFacts& f) { f.step = 20; }));  // the last step is saved anyway
}

TEST(SaveFits, WithAMarginAndBehindARunningSave) {
  EXPECT_TRUE(save_fits(10, false, 13));
  EXPECT_FALSE(save_fits(10, false, 12.9));
  EXPECT_TRUE(save_fits(10, true, 25));
  EXPECT_FALSE(save_fits(10, true, 24.9));
}

// Five updates, each of which takes `update_s_` by the clock.
class TimedSavesTest : public testing::Test {
 protected:
  TimedSavesTest() { options_.max_steps = 5; }

  // Each save has ended when the next update begins.
  std::unique_ptr<TinyJob> make_job(const std::string& name = "job") {
    auto job = std::make_unique<TinyJob>(options_, scratch_ / name, *storage_, /*evaluates=*/false,
                                         Saving::kWhileTrainingWaits);
    job->clock = [this] { return now_s_; };
    job->observer.when_step = [this](int64_t) { now_s_ += update_s_; };
    return job;
  }
  std::set<std::string> checkpoints() {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_ / "job")) {
      names.insert(entry.path().filename().string());
    }
    return names;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  TrainingOptions options_ = tiny_options();
  double now_s_ = 0, update_s_ = 25;
};

TEST_F(TimedSavesTest, SavesAfterSoManyMinutesWithoutACheckpoint) {
  options_.save_minutes = 1;
  const auto job = make_job();
  job->run();
  EXPECT_THAT(job->observer.checkpoints, ElementsAre(3, 5));
  EXPECT_THAT(checkpoints(), ElementsAre("step-00000003", "step-00000005"));
}

TEST_F(TimedSavesTest, ASaveByStepsRestartsTheTime) {
  options_.save_minutes = 1;
  options_.save_steps = 2;
  const auto job = make_job();
  job->run();
  EXPECT_THAT(job->observer.checkpoints, ElementsAre(2, 4, 5));
}

TEST_F(TimedSavesTest, TheNextCheckpointReplacesOneOfTheChosenInterval) {
  update_s_ = 200;
  CapturedLog log;
  const auto job = make_job();
  job->run();
  EXPECT_THAT(job->observer.checkpoints, ElementsAre(2, 4, 5));
  // The newest one may be damaged, so two stay.
  EXPECT_THAT(checkpoints(), ElementsAre("step-00000002", "step-00000005"));
  EXPECT_THAT(log.lines(), HasSubstr("one is also saved every 5 minutes"));
  EXPECT_EQ(log.lines().find("also saved"), log.lines().rfind("also saved"));
}

TEST_F(TimedSavesTest, OfInterimCheckpointsTheTwoNewestStay) {
  update_s_ = 200;
  options_.save_total_limit = 2;
  make_job()->run();
  EXPECT_THAT(checkpoints(), ElementsAre("step-00000004", "step-00000005"));
}

// A job that is stopped after update 3. It saved step 2 before, and says how that went.
TEST_F(TimedSavesTest, SavesAtAStopOnlyWhatFitsIntoTheGrace) {
  options_.grace_s = 30;
  options_.save_steps = 2;
  for (const double since_stop_s : {1.0, 29.5}) {
    CapturedLog log;
    const auto job = make_job(cat("stopped-", since_stop_s));
    job->since_stop = [&] { return since_stop_s; };
    job->observer.when_step = [&](int64_t step) { job->stop = step == 3; };
    EXPECT_THAT([&] { job->run(); }, ThrowsCode(Code::kStopped, "after step 3 of 5"));
    if (since_stop_s < 29) {
      EXPECT_THAT(job->observer.checkpoints, ElementsAre(2, 3));
      EXPECT_EQ(log.warnings(), "");
    } else {
      EXPECT_THAT(job->observer.checkpoints, ElementsAre(2));
      EXPECT_THAT(log.warnings(), HasSubstr("step 3 is not saved: the last checkpoint took 0."));
      EXPECT_THAT(log.warnings(), HasSubstr("0.5 s are left of --grace-seconds"));
    }
  }
}

TEST_F(TimedSavesTest, TriesToSaveAtAStopWhereNoSaveHasTold) {
  options_.grace_s = 30;
  const auto job = make_job();
  job->since_stop = [] { return 29.5; };
  job->observer.when_step = [&](int64_t step) { job->stop = step == 3; };
  EXPECT_THAT([&] { job->run(); }, ThrowsCode(Code::kStopped));
  EXPECT_THAT(job->observer.checkpoints, ElementsAre(3));
}

// Saving by time changes neither the training nor what a resumed job computes.
TEST_F(TimedSavesTest, ResumesFromAnInterimCheckpointToTheSameBits) {
  options_.save_minutes = 0;
  const auto whole = make_job("whole");
  whole->run();
  options_.save_minutes.reset();
  update_s_ = 200;
  {
    const auto killed = make_job();
    killed->observer.when_step = [this](int64_t step) {
      now_s_ += update_s_;
      if (step == 3) throw std::runtime_error("killed");
    };
    EXPECT_THROW(killed->run(), std::runtime_error);
    EXPECT_THAT(checkpoints(), ElementsAre("step-00000002"));
  }
  const auto resumed = make_job();
  resumed->run();
  EXPECT_EQ(resumed->first_step, 2);
  EXPECT_THAT(checkpoints(), ElementsAre("step-00000002", "step-00000005"));
  EXPECT_EQ(resumed->tiny.learned().parameters, whole->tiny.learned().parameters);
}

// A process that is killed after it wrote a checkpoint and before it removed the interim one leaves
// both of them, beside an older one.
TEST_F(TimedSavesTest, AResumedJobRemovesTheInterimCheckpointThatWasReplaced) {
  update_s_ = 200;
  make_job()->run();
  ASSERT_THAT(checkpoints(), ElementsAre("step-00000002", "step-00000005"));
  std::filesystem::copy(scratch_ / "job/step-00000002", scratch_ / "job/step-00000004");
  const auto resumed = make_job();
  resumed->run();
  EXPECT_EQ(resumed->first_step, 5);
  EXPECT_THAT(checkpoints(), ElementsAre("step-00000002", "step-00000005"));
}

}  // namespace
}  // namespace berth
