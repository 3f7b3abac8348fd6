// The training loop without interruptions.

#include "trainer/loop/train.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

#include "tests/support/borrowed_storage.h"
#include "tests/support/captured_log.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_job.h"
#include "trainer/loop/results.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class TrainTest : public testing::Test {
 protected:
  TrainTest() { options_.max_steps = 5; }

  std::unique_ptr<TinyJob> make_job(bool evaluates) {
    return std::make_unique<TinyJob>(options_, scratch_ / "job", *storage_, evaluates);
  }
  // Runs a whole job and returns what its observer saw.
  RecordingObserver run(bool evaluates = true) {
    const auto job = make_job(evaluates);
    job->run();
    return job->observer;
  }
  std::vector<int64_t> logged_steps(const RecordingObserver& observer) const {
    std::vector<int64_t> steps;
    for (const StepReport& report : observer.steps) {
      if (report.log) steps.push_back(report.step);
    }
    return steps;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  TrainingOptions options_ = tiny_options();
};

TEST_F(TrainTest, MeetsEveryExampleOnceAnEpochByTokens) {
  options_.max_steps = 0;
  options_.token_budget = options_.batch_size = 20;
  options_.epochs = 2;
  const auto job = make_job(/*evaluates=*/false);
  const TrainResult result = job->run();
  EXPECT_EQ(result.state.examples, 44);
  EXPECT_EQ(result.state.cursor, (DataCursor{.epoch = 2}));
}

TEST_F(TrainTest, Learns) {
  options_.max_steps = 0;
  options_.epochs = 20;
  const RecordingObserver seen = run();
  EXPECT_LT(seen.evaluations.back().loss, 0.5 * seen.evaluations.front().loss);
  EXPECT_EQ(seen.evaluations.back().metrics.at("accuracy"), 1);
}

TEST_F(TrainTest, CountsWhatItSaw) {
  options_.max_steps = 7;  // an epoch of 22 texts, and 4 texts more
  const auto job = make_job(true);
  const TrainResult result = job->run();
  EXPECT_EQ(result.state.step, 7);
  EXPECT_EQ(result.state.examples, 26);
  EXPECT_EQ(result.examples, 26);
  EXPECT_EQ(result.tokens, result.state.tokens);
  EXPECT_EQ(result.state.cursor, (DataCursor{.epoch = 1, .block = 0, .index = 4}));
  double loss_sum = 0;
  for (const StepReport& report : job->observer.steps) {
    loss_sum += report.loss * (report.step == 6 ? 2 : 4);
  }
  EXPECT_NEAR(result.state.loss_sum, loss_sum, 1e-9);
  ASSERT_TRUE(result.evaluation);
  EXPECT_EQ(result.evaluation->examples, 9);
  EXPECT_EQ(result.evaluation->loss, job->observer.evaluations.back().loss);
}

TEST_F(TrainTest, ReportsEveryStep) {
  const RecordingObserver seen = run();
  ASSERT_THAT(seen.steps, SizeIs(5));
  for (size_t i = 0; i < 5; ++i) {
    const StepReport& report = seen.steps[i];
    EXPECT_EQ(report.step, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(report.total_steps, 5);
    EXPECT_DOUBLE_EQ(report.epoch, 4.0 * static_cast<double>(i + 1) / 22);
    EXPECT_GT(report.loss, 0);
    EXPECT_GT(report.grad_norm, 0);
    EXPECT_GT(report.examples_per_second, 0);
    EXPECT_GT(report.tokens_per_second, report.examples_per_second);
  }
}

TEST_F(TrainTest, WarmsUpFromZero) {
  options_.optimization.warmup_ratio = 0.4;  // 2 of 5 updates
  std::vector<double> rates;
  for (const StepReport& report : run().steps) rates.push_back(report.learning_rate * 100);
  const std::vector<double> expected = {0, 0.5, 1, 2.0 / 3, 1.0 / 3};
  EXPECT_THAT(rates, testing::Pointwise(testing::DoubleNear(1e-12), expected));
}

TEST_F(TrainTest, AccumulatedBatchesAreOneUpdate) {
  const RecordingObserver two = run();
  ScratchDirectory other;
  options_.gradient_accumulation_steps = 1;
  TinyJob whole(options_, other / "job", *storage_);
  whole.run();
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(whole.observer.steps[i].loss, two.steps[i].loss, 1e-4) << "step " << i + 1;
    EXPECT_NEAR(whole.observer.steps[i].grad_norm, two.steps[i].grad_norm, 1e-3);
  }
}

TEST_F(TrainTest, LogsTheFirstTheLastAndEveryFewSteps) {
  options_.max_steps = 8;
  options_.logging_steps = 3;
  EXPECT_THAT(logged_steps(run()), ElementsAre(1, 3, 6, 8));
}

TEST_F(TrainTest, LogsAreMeansSinceTheLastOne) {
  options_.logging_steps = 3;
  const RecordingObserver seen = run();
  EXPECT_DOUBLE_EQ(seen.steps[0].interval_loss, seen.steps[0].loss);
  EXPECT_NEAR(seen.steps[2].interval_loss, (seen.steps[1].loss + seen.steps[2].loss) / 2, 1e-9);
  EXPECT_NEAR(seen.steps[4].interval_loss, (seen.steps[3].loss + seen.steps[4].loss) / 2, 1e-9);
}

TEST_F(TrainTest, LoggingStepsZeroLogsTheEndsOnly) {
  options_.logging_steps = 0;
  EXPECT_THAT(logged_steps(run()), ElementsAre(1, 5));
}

TEST_F(TrainTest, SavesEveryFewStepsAndAtTheEnd) {
  options_.save_steps = 2;
  EXPECT_THAT(run(false).checkpoints, ElementsAre(2, 4, 5));
}

TEST_F(TrainTest, SaveStepsZeroSavesAtTheEnd) {
  EXPECT_THAT(run(false).checkpoints, ElementsAre(5));
}

TEST_F(TrainTest, SavesTheLastStepOnce) {
  options_.save_steps = 5;
  EXPECT_THAT(run(false).checkpoints, ElementsAre(5));
}

TEST_F(TrainTest, OfWhichOnlyTheScoresAreWantedSavesNothing) {
  options_.save_steps = 1;
  options_.keeps_weights = false;
  TinyJob job(options_, scratch_ / "job", *storage_);
  EXPECT_TRUE(job.run().evaluation);
  EXPECT_THAT(job.observer.checkpoints, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "job"));
}

TEST_F(TrainTest, EvaluatesAfterEveryEpochAndAtTheEnd) {
  options_.max_steps = 14;
  EXPECT_THAT(run().evaluated_steps(), ElementsAre(6, 12, 14));
}

TEST_F(TrainTest, EvaluatesEveryFewStepsAndAtTheEnd) {
  options_.eval_steps = 2;
  const RecordingObserver seen = run();
  EXPECT_THAT(seen.evaluated_steps(), ElementsAre(2, 4, 5));
  EXPECT_EQ(seen.evaluations[0].split, "validation");
  EXPECT_EQ(seen.evaluations[0].examples, 9);
  EXPECT_THAT(seen.evaluations[0].metrics, testing::Contains(testing::Key("accuracy")));
  EXPECT_GE(seen.evaluations[0].majority_rate, 0.5);
}

TEST_F(TrainTest, EvaluatesAsOftenInEachEpochAsAsked) {
  options_.max_steps = 12;  // two epochs
  options_.num_eval_per_epoch = 4;
  EXPECT_THAT(run().evaluated_steps(), ElementsAre(2, 3, 5, 6, 8, 9, 11, 12));
}

TEST_F(TrainTest, EvaluatesAfterEachUpdateAtMost) {
  options_.num_eval_per_epoch = 50;
  EXPECT_THAT(run().evaluated_steps(), ElementsAre(1, 2, 3, 4, 5));
}

TEST_F(TrainTest, WithoutEvaluationDataNothingIsEvaluated) {
  const auto job = make_job(false);
  EXPECT_EQ(job->run().evaluation, std::nullopt);
  EXPECT_THAT(job->observer.evaluations, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(scratch_ / "job/best.json"));
}

TEST_F(TrainTest, TheBestEvaluationHasACheckpointAndAName) {
  options_.max_steps = 0;
  options_.epochs = 6;
  options_.save_total_limit = 1;
  const auto job = make_job(true);
  const TrainResult result = job->run();
  double highest = -1;
  int64_t step = 0;
  for (const EvaluationReport& report : job->observer.evaluations) {
    if (report.metrics.at("accuracy") > highest) {
      highest = report.metrics.at("accuracy");
      step = report.step;
    }
  }
  ASSERT_TRUE(result.state.best);
  EXPECT_EQ(result.state.best->step, step);
  EXPECT_EQ(result.state.best->value, highest);
  EXPECT_THAT(read_text(scratch_ / "job/best.json"),
              HasSubstr("\"step\": " + std::to_string(step) + ","));
  char name[40];
  std::snprintf(name, sizeof name, "job/step-%08d/MANIFEST.json", static_cast<int>(step));
  EXPECT_TRUE(std::filesystem::exists(scratch_ / name));
}

TEST_F(TrainTest, StopsEarlyOnceNothingGetsBetterAndStaysStopped) {
  options_.max_steps = 20;
  options_.eval_steps = 2;
  options_.early_stopping_patience = 2;
  options_.optimization.learning_rate = 0;  // the first evaluation is the best
  const CapturedLog log;
  const auto job = make_job(true);
  const TrainResult result = job->run();
  EXPECT_EQ(result.state.step, 6);
  EXPECT_EQ(result.state.best->step, 2);
  EXPECT_THAT(job->observer.evaluated_steps(), ElementsAre(2, 4, 6));
  EXPECT_THAT(job->observer.checkpoints, ElementsAre(2, 6));
  EXPECT_TRUE(result.evaluation);
  EXPECT_THAT(log.lines(), HasSubstr("stopped early after step 6 of 20"));
  EXPECT_THAT(log.lines(),
              HasSubstr("; the model is step 6's, and --load-best-model-at-end would"));

  const auto again = make_job(true);
  EXPECT_EQ(again->run().state.step, 6);
  EXPECT_EQ(again->first_step, 6);
  EXPECT_THAT(again->observer.steps, IsEmpty());
}

TEST_F(TrainTest, StopsEarlyWhereNoGainIsAboveTheThreshold) {
  options_.max_steps = 20;
  options_.eval_steps = 2;
  options_.metric_for_best_model = "loss";
  options_.early_stopping_patience = 2;
  options_.early_stopping_threshold = 1000;  // each evaluation is better, and none by so much
  const TrainResult result = make_job(true)->run();
  EXPECT_EQ(result.state.step, 6);
  EXPECT_EQ(result.state.best->step, 6);
  EXPECT_EQ(result.state.best->improved_step, 2);
}

TEST_F(TrainTest, MayEndWithTheBestParameters) {
  options_.max_steps = 8;
  options_.eval_steps = 1;
  options_.metric_for_best_model = "loss";
  options_.load_best_model_at_end = true;
  options_.optimization.learning_rate = 2;  // so high that the loss grows
  options_.optimization.warmup_ratio = 0;
  const auto job = make_job(true);
  const TrainResult result = job->run();
  const Best best = *result.state.best;
  ASSERT_LT(best.step, 8);
  EXPECT_EQ(result.evaluation->loss, best.value);

  TinyModel loaded(/*seed=*/2);
  CheckpointStore(*storage_, Uri::parse(scratch_ / "job"), 0)
      .restore_parameters(best.step, loaded.values());
  EXPECT_EQ(job->tiny.learned().parameters, loaded.learned().parameters);
  EXPECT_THAT(
      [&] {
        CheckpointStore(*storage_, Uri::parse(scratch_ / "job"), 0)
            .restore_parameters(99, loaded.values());
      },
      ThrowsCode(Code::kNotFound, "step-00000099"));
}

TEST_F(TrainTest, EndsWithTheLastParametersWhereTheBestAreDamaged) {
  options_.max_steps = 8;
  options_.eval_steps = 1;
  options_.metric_for_best_model = "loss";
  options_.load_best_model_at_end = true;
  options_.optimization.learning_rate = 2;
  options_.optimization.warmup_ratio = 0;
  const auto job = make_job(true);
  int64_t best = 0;
  job->observer.when_checkpoint = [&](int64_t step) {
    if (step < 8) {
      best = step;
    } else {
      write_text(scratch_ / ("job/step-0000000" + std::to_string(best) + "/model.safetensors"), "");
    }
  };
  const CapturedLog log;
  const TrainResult result = job->run();
  EXPECT_EQ(result.state.best->step, best);
  EXPECT_EQ(result.model_step, 8);
  EXPECT_EQ(result.lost_best_step, best);
  EXPECT_NE(result.evaluation->loss, result.state.best->value);
  EXPECT_THAT(log.warnings(), HasSubstr("The model is step 8's, which is not the best one"));
  const std::string metrics =
      to_json(JobMetrics{.result = result, .evaluation = {}, .kernels = ""});
  EXPECT_THAT(metrics, HasSubstr("\"model_step\": 8,"));
  EXPECT_THAT(metrics, HasSubstr("\"lost_best_step\": " + std::to_string(best)));
}

TEST_F(TrainTest, ALossThatStaysNaNEndsTheJobUnsaved) {
  options_.save_steps = 2;
  const auto job = make_job(false);
  TinyModel& tiny = job->tiny;
  job->observer.when_step = [&](int64_t step) {
    if (step == 3) {
      tiny.set(StateTensors::kValues, "bert.pooler.dense.bias",
               std::numeric_limits<float>::quiet_NaN());
    }
  };
  EXPECT_THAT([&] { job->run(); }, ThrowsCode(Code::kDiverged, "at step 4 the loss is nan"));
  EXPECT_THAT(job->observer.checkpoints, ElementsAre(2));
  EXPECT_THAT(job->observer.steps, SizeIs(5));  // step 3 is reported three times

  const auto again = make_job(false);
  EXPECT_EQ(again->run().state.step, 5);
  EXPECT_EQ(again->first_step, 2);
}

TEST_F(TrainTest, AnInfiniteGradientEndsTheJobToo) {
  const auto job = make_job(false);
  TinyModel& tiny = job->tiny;
  job->observer.when_step = [&](int64_t) {
    tiny.set(StateTensors::kValues, "classifier.weight", 1e38f);
  };
  EXPECT_THAT([&] { job->run(); }, ThrowsCode(Code::kDiverged, "lower --learning-rate"));
}

// Saves that fail during training.
class SavingTest : public TrainTest {
 protected:
  // Fails to write "step-0000000N/..." for the given steps.
  class RefusingStorage final : public BorrowedStorage {
   public:
    RefusingStorage(Storage& inner, std::vector<int> steps, Code code)
        : BorrowedStorage(inner), steps_(std::move(steps)), code_(code) {}

    std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
      for (const int step : steps_) {
        if (uri.path().find("step-0000000" + std::to_string(step)) == std::string::npos) continue;
        throw Error(code_, "refused", uri.to_string());
      }
      return BorrowedStorage::create(uri, options);
    }

   private:
    const std::vector<int> steps_;
    const Code code_;
  };

  std::unique_ptr<TinyJob> make_job(std::vector<int> refused_steps, Code code = Code::kUnavailable,
                                    bool evaluates = false) {
    options_.save_steps = 1;
    storage_that_refuses_.emplace(*storage_, std::move(refused_steps), code);
    return std::make_unique<TinyJob>(options_, scratch_ / "job", *storage_that_refuses_, evaluates);
  }

  std::optional<RefusingStorage> storage_that_refuses_;
};

TEST_F(SavingTest, AFailureDuringTrainingIsAWarning) {
  for (const Code code : {Code::kUnavailable, Code::kNoSpace, Code::kNotPermitted}) {
    const auto job = make_job({2, 3}, code);
    CapturedLog log;
    EXPECT_EQ(job->run().state.step, 5);
    EXPECT_THAT(job->observer.checkpoints, ElementsAre(1, 4, 5));
    for (const char* step : {"2", "3"}) {
      EXPECT_THAT(log.warnings(),
                  HasSubstr(std::string("checkpoint of step ") + step + " was not saved: "));
    }
    EXPECT_THAT(log.warnings(), HasSubstr("training goes on, the next save tries again"));
    std::filesystem::remove_all(scratch_ / "job");
  }
}

TEST_F(SavingTest, ABugOfOursIsThrown) {
  EXPECT_THAT([&] { make_job({2}, Code::kInternal)->run(); }, ThrowsCode(Code::kInternal));
}

TEST_F(SavingTest, AFailureAtTheEndIsThrown) {
  const auto job = make_job({5});
  EXPECT_THAT([&] { job->run(); }, ThrowsCode(Code::kUnavailable, "step-00000005"));
  EXPECT_THAT(job->observer.checkpoints, ElementsAre(1, 2, 3, 4));
}

// It could be written when the job began.
TEST_F(SavingTest, APlaceThatTurnsReadOnlyIsTriedAgainByARestart) {
  const auto job = make_job({5}, Code::kNotPermitted);
  EXPECT_THAT([&] { job->run(); }, ThrowsCode(Code::kUnavailable, "start the job again"));
}

TEST_F(SavingTest, AFailureOfAStoppedJobIsThrown) {
  const auto job = make_job({3});
  job->observer.when_step = [&](int64_t step) { job->stop = step == 3; };
  const CapturedLog log;
  EXPECT_THAT([&] { job->run(); }, ThrowsCode(Code::kUnavailable, "step-00000003"));
}

TEST_F(SavingTest, ABestWhoseCheckpointFailedDoesNotCount) {
  options_.eval_steps = 1;
  options_.max_steps = 1;
  const auto whole = TrainTest::make_job(true);
  EXPECT_EQ(whole->run().state.best->step, 1);
  std::filesystem::remove_all(scratch_ / "job");

  options_.max_steps = 3;
  const auto job = make_job({1}, Code::kUnavailable, true);
  const CapturedLog log;
  const TrainResult result = job->run();
  ASSERT_TRUE(result.state.best);
  EXPECT_GT(result.state.best->step, 1);
  EXPECT_THAT(read_text(scratch_ / "job/best.json"),
              HasSubstr("\"step\": " + std::to_string(result.state.best->step) + ","));
}

}  // namespace
}  // namespace berth
