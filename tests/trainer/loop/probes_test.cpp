#include "trainer/loop/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_job.h"
#include "trainer/loop/checkpoint_folder.h"

namespace berth {
namespace {

using testing::ElementsAre;

// The steps at which an uninterrupted job of 10 updates probes; an epoch has 4.
std::vector<int64_t> probed_steps(int64_t every, TrainingOptions options = {}) {
  const Plan plan{.steps_per_epoch = 4, .total_steps = 10, .epochs = 2.5};
  const ProbeRule rule({.steps = every}, options, plan);
  std::vector<int64_t> steps;
  for (int64_t step = 0; step <= plan.total_steps; ++step) {
    if (rule.due(step, steps.empty() ? -1 : steps.back())) steps.push_back(step);
  }
  EXPECT_EQ(rule.count(), static_cast<int64_t>(steps.size()));
  return steps;
}

TEST(ProbeRuleTest, IsDueAtTheStartAtEveryIntervalAndAtTheEnd) {
  EXPECT_THAT(probed_steps(3), ElementsAre(0, 3, 6, 9, 10));
  EXPECT_THAT(probed_steps(5), ElementsAre(0, 5, 10));
  EXPECT_THAT(probed_steps(1000), ElementsAre(0, 10));
}

TEST(ProbeRuleTest, FollowsTheEvaluationsWithoutAnInterval) {
  EXPECT_THAT(probed_steps(0), ElementsAre(0, 4, 8, 10));
  EXPECT_THAT(probed_steps(0, {.num_eval_per_epoch = 2}), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(probed_steps(0, {.eval_steps = 7}), ElementsAre(0, 7, 10));
}

TEST(ProbeRuleTest, IsDueAtOnceWhereAResumedJobHasNoProbeYet) {
  const ProbeRule rule({.steps = 4}, {}, {.steps_per_epoch = 4, .total_steps = 10});
  EXPECT_TRUE(rule.due(7, -1));
  EXPECT_FALSE(rule.due(7, 4));
  EXPECT_FALSE(rule.due(8, 8)) << "a probe is not repeated at its step";
}

TEST(ProbeSummariesTest, TellTheFirstAndTheLastScoreOfEachProbe) {
  const auto report = [](int64_t step, const char* name, const char* metric, double score) {
    return ProbeReport{.step = step, .name = name, .metric = metric, .metrics = {{metric, score}}};
  };
  EXPECT_THAT(probe_summaries(
                  {report(0, "topics", "accuracy", 0.61), report(0, "ner", "entity_f1", 0.1),
                   report(50, "topics", "accuracy", 0.7), report(100, "topics", "accuracy", 0.84)}),
              ElementsAre("probe topics: accuracy 0.6100 at step 0, 0.8400 at step 100",
                          "probe ner: entity_f1 0.1000 at step 0"));
}

class ProbedJobTest : public testing::Test {
 protected:
  static constexpr int64_t kSteps = 9;

  ProbedJobTest() {
    options_.max_steps = kSteps;
    options_.eval_steps = 4;
  }

  std::unique_ptr<TinyJob> job(const ScratchDirectory& scratch) {
    auto made = std::make_unique<TinyJob>(options_, scratch / "job", *storage_);
    made->probes = &probes_;
    made->probe_options.steps = 3;
    return made;
  }
  Learned learned_without_probes() {
    const ScratchDirectory scratch;
    TinyJob alone(options_, scratch / "job", *storage_);
    alone.run();
    return alone.tiny.learned();
  }
  // Resumes the job as a new process, and compares it with one that was never interrupted.
  void expect_resumes(const ScratchDirectory& scratch, int64_t from) {
    probes_.when_probing = nullptr;
    const auto resumed = job(scratch);
    const TrainResult result = resumed->run();
    EXPECT_EQ(resumed->first_step, from);
    EXPECT_TRUE(resumed->tiny.learned() == learned_without_probes());
    std::vector<int64_t> steps;
    for (const ProbeReport& probe : result.state.probes) steps.push_back(probe.step);
    EXPECT_THAT(steps, ElementsAre(0, 3, 6, 9)) << "each probe is recorded once";
  }

  std::unique_ptr<Storage> storage_ = make_local_storage();
  TrainingOptions options_ = tiny_options();
  FakeProbes probes_;
};

TEST_F(ProbedJobTest, EndsAsOneWithoutProbes) {
  const ScratchDirectory scratch;
  const auto probed = job(scratch);
  const TrainResult result = probed->run();
  EXPECT_TRUE(probed->tiny.learned() == learned_without_probes());
  EXPECT_THAT(probed->observer.probed, ElementsAre(0, 3, 6, 9));
  EXPECT_EQ(result.state.probed_step, kSteps);
  EXPECT_EQ(result.state.probes.back().metrics.at("accuracy"), kSteps);
}

TEST_F(ProbedJobTest, AKillInAProbeRepeatsWhatTheLastCheckpointDoesNotHave) {
  struct Killed {};
  options_.save_steps = 2;
  for (const int64_t killed_at : {0, 3, 6, 9}) {
    const ScratchDirectory scratch;
    probes_.when_probing = [killed_at](int64_t step) -> bool {
      if (step == killed_at) throw Killed();
      return true;
    };
    EXPECT_THROW(job(scratch)->run(), Killed);
    // The checkpoint of step 6 is written after the probe.
    expect_resumes(scratch, /*from=*/killed_at == 6 ? 4 : killed_at / 2 * 2);
  }
}

TEST_F(ProbedJobTest, AStopInAProbeSavesTheStateAndTheProbeIsRunAgain) {
  for (const int64_t stopped_at : {3, 6, 9}) {
    const ScratchDirectory scratch;
    probes_.when_probing = [stopped_at](int64_t step) { return step != stopped_at; };
    EXPECT_THAT([&] { job(scratch)->run(); }, ThrowsCode(Code::kStopped));
    expect_resumes(scratch, /*from=*/stopped_at);
  }
}

TEST_F(ProbedJobTest, AJobMayGoOnWithoutItsProbes) {
  const ScratchDirectory scratch;
  probes_.when_probing = [](int64_t step) { return step != 6; };
  EXPECT_THAT([&] { job(scratch)->run(); }, ThrowsCode(Code::kStopped));
  TinyJob alone(options_, scratch / "job", *storage_);
  const TrainResult result = alone.run();
  EXPECT_TRUE(alone.tiny.learned() == learned_without_probes());
  EXPECT_EQ(result.state.probes.size(), 2) << "what was found before is kept";
}

TEST_F(ProbedJobTest, TheLastStepIsProbedAfterAnEarlyStop) {
  options_.max_steps = 40;
  options_.early_stopping_patience = 1;
  options_.metric_for_best_model = "accuracy";
  options_.optimization.learning_rate = 1e-9;  // never better than at first
  const ScratchDirectory scratch;
  const auto probed = job(scratch);
  const TrainResult result = probed->run();
  EXPECT_EQ(result.state.step, 8);
  EXPECT_THAT(probed->observer.probed, ElementsAre(0, 3, 6, 8));
}

TEST(StateJsonTest, KeepsWhatProbesFound) {
  const TrainingState state{.step = 3,
                            .probed_step = 3,
                            .probes = {{.step = 3,
                                        .name = "topics",
                                        .metric = "accuracy",
                                        .metrics = {{"accuracy", 2.0 / 3}, {"f1", 0.5}},
                                        .loss = 0.25,
                                        .examples = 12,
                                        .seconds = 1.5}}};
  const TrainingState read = parse_training_state(to_json(state));
  EXPECT_EQ(read.probed_step, 3);
  ASSERT_EQ(read.probes.size(), 1);
  EXPECT_EQ(read.probes[0].step, 3);
  EXPECT_EQ(read.probes[0].name, "topics");
  EXPECT_EQ(read.probes[0].metric, "accuracy");
  EXPECT_EQ(read.probes[0].metrics, state.probes[0].metrics);
  EXPECT_EQ(read.probes[0].loss, 0.25);
  EXPECT_EQ(read.probes[0].examples, 12);
  EXPECT_EQ(read.probes[0].seconds, 1.5);
  const std::string without = to_json(TrainingState{.step = 3});
  EXPECT_EQ(without.find("probe"), std::string::npos);
  EXPECT_EQ(parse_training_state(without).probed_step, -1);
}

}  // namespace
}  // namespace berth
