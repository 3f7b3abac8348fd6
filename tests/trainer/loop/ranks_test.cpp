// Several ranks train one job together. Each is a thread here, with a model and a loop of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/letter_data.h"
#include "tests/support/rank_threads.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_job.h"
#include "tests/trainer/loop/tiny_model.h"
#include "trainer/loop/evaluate.h"

namespace berth {
namespace {

class LoopRanksTest : public testing::Test {
 protected:
  struct End {
    Learned learned;
    TrainingState state;
    EvaluationResult evaluation;
  };

  // Runs the job in `scratch`, which rank 0 alone may write to.
  std::vector<End> run(int size, const ScratchDirectory& scratch,
                       const std::function<void(TinyJob&, int)>& prepare = {}) {
    std::vector<End> ends(static_cast<size_t>(size));
    run_ranks(size, [&](Communicator& ranks) {
      TrainingOptions options = options_;
      options.place = {.rank = ranks.rank(), .size = size};
      options.keeps_weights = ranks.rank() == 0;
      const std::string directory = ranks.rank() == 0 ? "job" : "unused";
      TinyJob job(options, scratch / directory, *storage_, /*evaluates=*/true,
                  Saving::kBesideTraining, &ranks);
      if (prepare) prepare(job, ranks.rank());
      TrainResult result = job.run();
      ends[static_cast<size_t>(ranks.rank())] = {.learned = job.tiny.learned(),
                                                 .state = result.state,
                                                 .evaluation = result.evaluation.value()};
    });
    for (const End& end : ends) {
      EXPECT_TRUE(end.learned == ends[0].learned);
      EXPECT_EQ(end.evaluation.loss, ends[0].evaluation.loss);
      EXPECT_EQ(end.evaluation.scores.metrics, ends[0].evaluation.scores.metrics);
    }
    EXPECT_FALSE(std::filesystem::exists(scratch / "unused"));
    return ends;
  }

  End alone() {
    const ScratchDirectory scratch;
    TinyJob job(options_, scratch / "job", *storage_);
    TrainResult result = job.run();
    return {.learned = job.tiny.learned(),
            .state = result.state,
            .evaluation = result.evaluation.value()};
  }

  static void expect_alike(const End& end, const End& expected) {
    EXPECT_NEAR(end.state.loss_sum, expected.state.loss_sum, 1e-4);
    EXPECT_EQ(end.state.loss_weight, expected.state.loss_weight);
    EXPECT_EQ(end.state.examples, expected.state.examples);
    EXPECT_EQ(end.state.tokens, expected.state.tokens);
    EXPECT_TRUE(end.state.cursor == expected.state.cursor);
    EXPECT_NEAR(end.evaluation.loss, expected.evaluation.loss, 1e-4);
    EXPECT_EQ(end.evaluation.scores.metrics, expected.evaluation.scores.metrics);
  }

  TrainingOptions options_ = [] {
    TrainingOptions options = tiny_options();
    options.optimization.adam_epsilon = 1e-4;  // else rounding decides some steps
    options.eval_steps = 4;
    return options;
  }();
  const std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(LoopRanksTest, TrainAsOneProcessDoes) {
  const End expected = alone();
  for (const int size : {1, 2, 3}) {
    const ScratchDirectory scratch;
    expect_alike(run(size, scratch)[0], expected);
  }
}

TEST_F(LoopRanksTest, StopTogetherAndGoOnAsAnotherNumber) {
  const End expected = alone();
  const ScratchDirectory scratch;
  EXPECT_THAT(
      [&] {
        run(3, scratch, [](TinyJob& job, int rank) {
          if (rank != 1) return;
          job.observer.when_step = [&job](int64_t step) { job.stop = step == 5; };
        });
      },
      ThrowsCode(Code::kStopped, "after step 5"));
  int64_t first = 0;
  const End end = run(2, scratch, [&](TinyJob& job, int rank) {
    job.observer.when_step = [&first, &job, rank](int64_t) {
      if (rank == 1) first = job.first_step;
    };
  })[0];
  EXPECT_EQ(first, 5);
  expect_alike(end, expected);
}

TEST_F(LoopRanksTest, StopInAnEvaluation) {
  const ScratchDirectory scratch;
  EXPECT_THAT(
      [&] {
        run(2, scratch, [](TinyJob& job, int rank) {
          if (rank == 1) job.observer.when_evaluating = [&job](int64_t) { job.stop = true; };
        });
      },
      ThrowsCode(Code::kStopped, "after step 4"));
}

TEST_F(LoopRanksTest, EndWithTheBestModel) {
  options_.load_best_model_at_end = true;
  options_.early_stopping_patience = 1;
  const End expected = alone();
  const ScratchDirectory scratch;
  const End end = run(2, scratch)[0];
  EXPECT_EQ(end.state.step, expected.state.step);
  EXPECT_NEAR(end.evaluation.loss, expected.evaluation.loss, 1e-4);
}

// Rounds of 64 rows for each rank, the last of which is not full.
TEST(ForwardPassOfRanks, GivesTheBitsOfOneRank) {
  struct Outcome {
    std::vector<std::vector<float>> logits;
    std::optional<double> loss;
    bool operator==(const Outcome&) const = default;
  };
  const auto infer = [](Communicator* ranks) {
    TinyModel tiny(3);
    LetterData data(203);
    const std::atomic<bool> stop = false;
    Outcome outcome;
    const auto take = [&](int64_t index, std::span<const float> logits) {
      EXPECT_EQ(index, std::ssize(outcome.logits));
      outcome.logits.emplace_back(logits.begin(), logits.end());
    };
    outcome.loss = run_forward(*tiny.engine, *data.dataset, 5, stop, take, ranks);
    return outcome;
  };
  const Outcome alone = infer(nullptr);
  ASSERT_EQ(alone.logits.size(), 203u);
  for (const int size : {1, 2, 3, 7}) {
    std::atomic<int> equal = 0;
    run_ranks(size, [&](Communicator& ranks) { equal += infer(&ranks) == alone ? 1 : 0; });
    EXPECT_EQ(equal, size);
  }
}

}  // namespace
}  // namespace berth
