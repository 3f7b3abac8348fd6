// The loop with an engine whose outcomes are collected after later updates were started.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/captured_log.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/fake_engine.h"
#include "tests/trainer/loop/tiny_job.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The parameter is the number of updates that may be in flight.
class LateOutcomes : public testing::TestWithParam<size_t> {
 protected:
  LateOutcomes() {
    options_.max_steps = 5;
    options_.gradient_accumulation_steps = 1;
  }

  struct Run {
    TrainResult result;
    float value = 0;
    RecordingObserver observer;
  };
  // Trains `engine` as one process of the job in `directory` does.
  Run run(FakeEngine& engine, const std::string& directory) {
    CheckpointStore checkpoints(*storage_, Uri::parse(scratch_ / directory), 0);
    TrainingState state = checkpoints.restore(engine).value_or(TrainingState());
    Run run;
    run.observer.when_step = when_step_;
    run.result = train({.options = options_,
                        .engine = engine,
                        .train_data = *data_.dataset,
                        .eval_data = evaluates_ ? eval_data_.dataset.get() : nullptr,
                        .reading = reading_,
                        .metrics = {"accuracy", "f1", "precision", "recall"},
                        .eval_split = "validation",
                        .checkpoints = checkpoints,
                        .observer = run.observer,
                        .stop = stop_,
                        .fill_parameters = [&](ParameterTensors&) { engine.set_value(0); },
                        .flops = flops_},
                       make_plan(options_, *data_.dataset), std::move(state));
    run.value = engine.value();
    return run;
  }

  const ScratchDirectory scratch_;
  const std::unique_ptr<Storage> storage_ = make_local_storage();
  TrainingOptions options_ = tiny_options();
  const ReadingOptions reading_{.labels = {"first half", "second half"}};
  LetterData data_{22}, eval_data_{9};
  bool evaluates_ = false;
  std::atomic<bool> stop_ = false;
  std::function<void(int64_t)> when_step_;
  TrainingFlops flops_;
};

TEST_P(LateOutcomes, EveryUpdateIsMadeOnceAndReportedInOrder) {
  FakeEngine engine(GetParam());
  const Run done = run(engine, "job");
  EXPECT_THAT(engine.started, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(done.result.state.step, 5);
  EXPECT_EQ(done.value, static_cast<float>(done.result.state.tokens));
  std::vector<int64_t> steps;
  for (const StepReport& report : done.observer.steps) steps.push_back(report.step);
  EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_EQ(engine.most_in_flight, GetParam() + 1);
}

// The state that is saved or evaluated must contain the counted updates and no later ones.
TEST_P(LateOutcomes, NothingIsInFlightWhileItSavesOrEvaluates) {
  options_.save_steps = 2;
  options_.eval_steps = 3;
  evaluates_ = true;
  FakeEngine engine(GetParam());
  const Run done = run(engine, "job");
  EXPECT_THAT(done.observer.evaluated_steps(), ElementsAre(3, 5));
  FakeEngine restored;
  CheckpointStore checkpoints(*storage_, Uri::parse(scratch_ / "job"), 0);
  const TrainingState state = checkpoints.restore(restored).value();
  EXPECT_EQ(restored.value(), static_cast<float>(state.tokens));
}

TEST_P(LateOutcomes, ABadUpdateLeadsToTheSameStateHoweverLateItIsCollected) {
  options_.save_steps = 2;
  FakeEngine at_once;
  at_once.wrong = {3};
  const CapturedLog log;
  const Run expected = run(at_once, "at once");
  FakeEngine engine(GetParam());
  engine.wrong = {3};
  const Run late = run(engine, "late");
  EXPECT_THAT(log.warnings(), HasSubstr("at step 3 the loss is nan"));
  EXPECT_EQ(late.result.state.skipped, expected.result.state.skipped);
  EXPECT_EQ(late.result.state.cursor, expected.result.state.cursor);
  EXPECT_EQ(late.result.state.step, 5);
  EXPECT_EQ(late.value, expected.value);
}

TEST_P(LateOutcomes, AStopSavesTheUpdatesThatWereCounted) {
  options_.max_steps = 12;
  FakeEngine engine(GetParam());
  when_step_ = [&](int64_t step) { stop_ = step == 3; };
  EXPECT_THAT([&] { run(engine, "job"); }, ThrowsCode(Code::kStopped));
  when_step_ = nullptr;
  stop_ = false;
  FakeEngine next(GetParam()), whole(GetParam());
  EXPECT_EQ(run(next, "job").value, run(whole, "whole").value);
}

TEST_P(LateOutcomes, AStopAfterABadUpdateKeepsTheLastCheckpoint) {
  options_.save_steps = 2;
  options_.max_steps = 6;
  FakeEngine engine(GetParam());
  engine.wrong = {5};
  const CapturedLog log;
  when_step_ = [&](int64_t step) { stop_ = step == 4; };
  EXPECT_THAT([&] { run(engine, "job"); }, ThrowsCode(Code::kStopped));
  when_step_ = nullptr;
  stop_ = false;
  FakeEngine next(GetParam()), whole(GetParam());
  EXPECT_EQ(run(next, "job").value, run(whole, "whole").value);
}

TEST_P(LateOutcomes, PatienceEndsTheJob) {
  options_.max_steps = 20;
  options_.eval_steps = 1;
  options_.early_stopping_patience = 2;
  options_.metric_for_best_model = "loss";
  evaluates_ = true;
  FakeEngine engine(GetParam());
  EXPECT_EQ(run(engine, "job").result.state.step, 3);
}

// The engine claims to have compiled for longer than the updates took.
TEST_P(LateOutcomes, TheTimeOfCompilingIsNoPartOfTheRates) {
  FakeEngine engine(GetParam());
  engine.compiles_s = 1000;
  const Run done = run(engine, "job");
  EXPECT_EQ(done.result.compile_seconds, 5000);
  EXPECT_NEAR(done.result.seconds, -5000, 100);
}

TEST_P(LateOutcomes, AreReportedWithTheOperationsOfTheirBatches) {
  FakeEngine engine(GetParam());
  flops_ = {.of_token = 1e6};
  const Run done = run(engine, "job");
  EXPECT_EQ(done.result.flops, 1e6 * static_cast<double>(done.result.tokens));
  for (const StepReport& report : done.observer.steps) {
    EXPECT_NEAR(report.flops_per_second / report.tokens_per_second, 1e6, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(InFlight, LateOutcomes, testing::Values(0, 1, 3));

}  // namespace
}  // namespace berth
