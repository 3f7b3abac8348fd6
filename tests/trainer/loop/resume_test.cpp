// A job of N steps gives the same bits in one process as in two that make k and N - k steps,
// however the first process ended.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_log.h"
#include "tests/support/failing_storage.h"
#include "tests/support/held_storage.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_job.h"
#include "trainer/loop/checkpoint_folder.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

// Stands for the death of a process that is killed.
struct Killed {};

class ResumeTest : public testing::Test {
 protected:
  static constexpr int64_t kSteps = 9;  // ends in the second epoch

  ResumeTest() {
    options_.max_steps = kSteps;
    options_.eval_steps = 4;
  }

  struct End {
    Learned learned;
    std::string state;
    double evaluation_loss;
  };
  End finish(TinyJob& job) {
    const TrainResult result = job.run();
    return {.learned = job.tiny.learned(),
            .state = to_json(result.state),
            .evaluation_loss = result.evaluation.value().loss};
  }
  void expect_same(const End& end, const End& expected, const std::string& what) {
    EXPECT_TRUE(end.learned == expected.learned) << what;
    EXPECT_EQ(end.state, expected.state) << what;
    EXPECT_EQ(end.evaluation_loss, expected.evaluation_loss) << what;
  }
  End uninterrupted() {
    const ScratchDirectory scratch;
    TinyJob job(options_, scratch / "job", *storage_);
    return finish(job);
  }
  // Resumes the job in `scratch` as a new process and runs it to its end.
  void expect_resumes(const ScratchDirectory& scratch, const End& expected, int64_t from,
                      const std::string& what) {
    TinyJob job(options_, scratch / "job", *storage_);
    expect_same(finish(job), expected, what);
    EXPECT_EQ(job.first_step, from) << what;
    const Best best = parse_training_state(expected.state).best.value();
    EXPECT_EQ(read_text(scratch / "job/best.json"), to_json(best)) << what;
  }
  // Kills the job after each step in turn. It must resume from the last checkpoint and reach the
  // same end.
  void expect_survives_kills() {
    const End expected = uninterrupted();
    for (int64_t k = 1; k < kSteps; ++k) {
      const ScratchDirectory scratch;
      TinyJob job(options_, scratch / "job", *storage_);
      job.observer.when_step = [&](int64_t step) {
        if (step == k) throw Killed();
      };
      EXPECT_THROW(job.run(), Killed);
      const int64_t saved = (k - 1) / options_.save_steps * options_.save_steps;
      expect_resumes(scratch, expected, saved, "killed after step " + std::to_string(k));
    }
  }

  std::unique_ptr<Storage> storage_ = make_local_storage();
  TrainingOptions options_ = tiny_options();
};

TEST_F(ResumeTest, TwoWholeRunsAreEqual) { expect_same(uninterrupted(), uninterrupted(), "again"); }

TEST_F(ResumeTest, AStoppedRunSavesAndResumes) {
  const End expected = uninterrupted();
  for (int64_t k = 1; k < kSteps; ++k) {
    const ScratchDirectory scratch;
    const std::string what = "stopped after step " + std::to_string(k);
    TinyJob job(options_, scratch / "job", *storage_);
    job.observer.when_step = [&](int64_t step) { job.stop = step == k; };
    EXPECT_THAT([&] { job.run(); }, ThrowsCode(Code::kStopped, "step " + std::to_string(k)));
    expect_resumes(scratch, expected, k, what);
  }
}

TEST_F(ResumeTest, AdaptersResumeAndFrozenParametersHaveNoMoments) {
  options_.optimization.lora = {.rank = 2, .alpha = 8, .dropout = 0.2};
  const End expected = uninterrupted();
  const ScratchDirectory scratch;
  TinyJob job(options_, scratch / "job", *storage_);
  const Learned begun = job.tiny.learned();
  job.observer.when_step = [&](int64_t step) { job.stop = step == 3; };
  EXPECT_THAT([&] { job.run(); }, ThrowsCode(Code::kStopped, "step 3"));
  const std::string moments = read_text(scratch / "job/step-00000003/optimizer.safetensors");
  EXPECT_THAT(moments, HasSubstr("exp_avg.bert.encoder.layer.0.attention.self.query.lora_A"));
  EXPECT_THAT(moments, HasSubstr("exp_avg_sq.classifier.weight"));
  EXPECT_THAT(moments, Not(HasSubstr("query.weight")));
  expect_resumes(scratch, expected, 3, "with adapters");

  size_t adapters = 0;  // the elements before the first parameter that trains
  for (const ParameterSpec& spec : job.tiny.values().specs()) {
    if (spec.trains) break;
    adapters += static_cast<size_t>(spec.elements());
  }
  EXPECT_TRUE(std::equal(begun.parameters.begin(),
                         begun.parameters.begin() + static_cast<std::ptrdiff_t>(adapters),
                         expected.learned.parameters.begin()))
      << "the encoder learned";
  EXPECT_NE(begun.parameters, expected.learned.parameters);
}

TEST_F(ResumeTest, AStopBeforeTheFirstUpdateLeavesNothing) {
  const ScratchDirectory scratch;
  TinyJob job(options_, scratch / "job", *storage_);
  job.stop = true;
  EXPECT_THAT([&] { job.run(); }, ThrowsCode(Code::kStopped));
  EXPECT_FALSE(std::filesystem::exists(scratch / "job"));
  expect_resumes(scratch, uninterrupted(), 0, "stopped at once");
}

TEST_F(ResumeTest, AStopDuringEvaluationEvaluatesAgain) {
  const End expected = uninterrupted();
  const ScratchDirectory scratch;
  TinyJob job(options_, scratch / "job", *storage_);
  job.observer.when_evaluating = [&](int64_t done) { job.stop = done == 4; };
  EXPECT_THAT([&] { job.run(); }, ThrowsCode(Code::kStopped, "step 4"));
  EXPECT_TRUE(job.observer.evaluations.empty());
  expect_resumes(scratch, expected, 4, "stopped in evaluation");
}

TEST_F(ResumeTest, MayBeStoppedAgainAndAgain) {
  const End expected = uninterrupted();
  const ScratchDirectory scratch;
  for (int64_t k = 1; k < kSteps; ++k) {
    TinyJob job(options_, scratch / "job", *storage_);
    job.observer.when_step = [&](int64_t) { job.stop = true; };
    EXPECT_THAT([&] { job.run(); }, ThrowsCode(Code::kStopped));
    EXPECT_EQ(job.first_step, k - 1);
  }
  expect_resumes(scratch, expected, kSteps - 1, "a step a process");
}

TEST_F(ResumeTest, AKilledRunResumesFromItsLastCheckpoint) {
  options_.save_steps = 3;
  options_.eval_steps = kSteps;
  expect_survives_kills();
}

TEST_F(ResumeTest, AKillWhileSavingDoesNotChangeTheResult) {
  options_.max_steps = 4;
  options_.save_steps = 1;
  options_.eval_steps = 2;
  options_.save_total_limit = 1;
  const End expected = uninterrupted();
  const CapturedLog log;
  for (int published = 0;; ++published) {
    const ScratchDirectory scratch;
    FailingStorage storage(*storage_, published);
    TinyJob job(options_, scratch / "job", storage);
    try {
      job.run();
      break;
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Code::kUnavailable) << error.what();
    }
    TinyJob next(options_, scratch / "job", *storage_);
    const std::string what = "killed after " + std::to_string(published) + " files";
    expect_same(finish(next), expected, what);
    const Best best = parse_training_state(expected.state).best.value();
    EXPECT_EQ(read_text(scratch / "job/best.json"), to_json(best)) << what;
  }
}

// The checkpoint was saved before the evaluation of its step, so its state is written again, with
// the same tensors. A kill meanwhile must not cost the only checkpoint that there is.
TEST_F(ResumeTest, AStopBeforeTheLastEvaluationEndsWithTheSameFiles) {
  options_.save_total_limit = 1;
  const ScratchDirectory whole;
  TinyJob undisturbed(options_, whole / "job", *storage_);
  finish(undisturbed);
  for (int published = 0;; ++published) {
    const ScratchDirectory scratch;
    TinyJob stopped(options_, scratch / "job", *storage_);
    stopped.observer.when_step = [&](int64_t step) { stopped.stop = step == kSteps; };
    EXPECT_THAT([&] { stopped.run(); }, ThrowsCode(Code::kStopped));
    FailingStorage storage(*storage_, published);
    TinyJob killed(options_, scratch / "job", storage);
    bool was_killed = false;
    try {
      killed.run();
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), Code::kUnavailable) << error.what();
      was_killed = true;
    }
    TinyJob last(options_, scratch / "job", *storage_);
    last.run();
    EXPECT_EQ(last.first_step, kSteps) << published;
    for (const char* name : {"state.json", "MANIFEST.json", "model.safetensors"}) {
      const std::string file = std::string("job/step-00000009/") + name;
      EXPECT_EQ(read_text(scratch / file), read_text(whole / file)) << published;
    }
    if (!was_killed) break;
  }
}

// A save that becomes due while another one is written is postponed. Training continues and ends
// with the same result.
TEST_F(ResumeTest, ASlowSaveDoesNotDelayTraining) {
  options_.save_steps = 2;
  options_.save_patience_s = 0.01;
  // Evaluates only at the end, because training waits for the checkpoint of the best evaluation.
  options_.eval_steps = kSteps;
  const End expected = uninterrupted();
  const CapturedLog log;
  const ScratchDirectory scratch;
  HeldStorage storage(*storage_, "step-00000002");
  TinyJob job(options_, scratch / "job", storage);
  job.observer.when_step = [&](int64_t step) {
    if (step == 7) storage.release();
  };
  expect_same(finish(job), expected, "slow");
  EXPECT_THAT(log.lines(), HasSubstr("a later step is saved in place of step 4"));
  EXPECT_THAT(job.observer.checkpoints,
              testing::AllOf(Not(testing::Contains(4)), Not(testing::Contains(6))));
  EXPECT_EQ(job.observer.checkpoints.front(), 2);
  EXPECT_EQ(job.observer.checkpoints.back(), kSteps);
}

TEST_F(ResumeTest, WithATokenBudgetAKillChangesNothing) {
  options_.token_budget = 20;
  options_.batch_size = 5;
  options_.drop_remainder = true;
  options_.save_steps = 2;
  expect_survives_kills();
}

TEST_F(ResumeTest, WithATokenBudgetAccumulationDoesNotMoveTheData) {
  options_.token_budget = options_.batch_size = 20;
  options_.gradient_accumulation_steps = 1;
  const End whole = uninterrupted();
  options_.gradient_accumulation_steps = 3;
  const End cut = uninterrupted();
  const TrainingState a = parse_training_state(whole.state), b = parse_training_state(cut.state);
  EXPECT_EQ(a.cursor, b.cursor);
  EXPECT_EQ(a.examples, b.examples);
  EXPECT_NEAR(a.loss_sum, b.loss_sum, 1e-4 * a.loss_sum);
}

TEST_F(ResumeTest, AFinishedRunIsEvaluatedAndLeftAsItIs) {
  const ScratchDirectory scratch;
  TinyJob job(options_, scratch / "job", *storage_);
  const End expected = finish(job);
  TinyJob again(options_, scratch / "job", *storage_);
  expect_same(finish(again), expected, "finished");
  EXPECT_TRUE(again.observer.steps.empty());
  EXPECT_TRUE(again.observer.checkpoints.empty());
}

TEST_F(ResumeTest, SavingAndEvaluatingDoNotAffectTheWeights) {
  const End rarely = uninterrupted();
  options_.save_steps = 1;
  options_.eval_steps = 1;
  options_.logging_steps = 1;
  EXPECT_TRUE(uninterrupted().learned == rarely.learned);
}

TEST_F(ResumeTest, TheSeedAffectsTheWeights) {
  const End before = uninterrupted();
  options_.seed = 43;
  EXPECT_FALSE(uninterrupted().learned == before.learned);
}

TEST_F(ResumeTest, SaysWhereItStopped) {
  const ScratchDirectory scratch;
  TinyJob job(options_, scratch / "job", *storage_);
  job.observer.when_step = [&](int64_t step) { job.stop = step == 2; };
  EXPECT_THAT([&] { job.run(); },
              testing::Throws<Error>(testing::AllOf(
                  testing::Property(&Error::where, HasSubstr("step-00000002")),
                  testing::Property(&Error::problem, HasSubstr("after step 2 of 9")))));
}

}  // namespace
}  // namespace berth
