#include "trainer/loop/plan.h"

#include <gtest/gtest.h>

#include "tests/support/letter_data.h"

namespace berth {
namespace {

Plan plan_of(const TrainingOptions& options, int rows) {
  const LetterData data(rows);
  return make_plan(options, *data.dataset);
}

TEST(Plan, CountsAnEpochsPartialLastUpdate) {
  TrainingOptions options;
  options.batch_size = 8;
  options.epochs = 3;
  EXPECT_EQ(plan_of(options, 16).steps_per_epoch, 2);
  EXPECT_EQ(plan_of(options, 17).steps_per_epoch, 3);
  EXPECT_EQ(plan_of(options, 17).total_steps, 9);
  EXPECT_EQ(plan_of(options, 1).total_steps, 3);
}

TEST(Plan, TakesPartsOfAnEpochAndMaxSteps) {
  TrainingOptions options;
  options.batch_size = 8;
  options.epochs = 0.5;
  EXPECT_EQ(plan_of(options, 80).total_steps, 5);
  EXPECT_EQ(plan_of(options, 72).total_steps, 5);  // 4.5 rounded up
  options.epochs = 0.01;
  EXPECT_EQ(plan_of(options, 8).total_steps, 1);
  options.max_steps = 100;
  EXPECT_EQ(plan_of(options, 8).total_steps, 100);
}

// Counts the updates of so many epochs by making them as the loop does.
int64_t updates_made(const TrainingOptions& options, int rows, int64_t epochs) {
  const LetterData data(rows);
  Batcher batcher({.batch_size = options.batch_size,
                   .token_budget = options.token_budget,
                   .seed = options.seed},
                  *data.dataset);
  int64_t updates = 0;
  for (DataCursor cursor; cursor.epoch < epochs; ++updates) cursor = batcher.next(cursor).after;
  return updates;
}

TEST(Plan, OfATokenBudgetCountsEveryEpoch) {
  TrainingOptions options;
  options.batch_size = options.token_budget = 40;
  options.epochs = 7;
  const Plan plan = plan_of(options, 100);
  EXPECT_EQ(plan.total_steps, updates_made(options, 100, 7));
  EXPECT_EQ(plan.epochs, 7);
  EXPECT_EQ(plan.steps_per_epoch, plan.total_steps / 7);
  // Epochs have different numbers of updates, so a multiple of the first epoch's would be wrong.
  EXPECT_NE(plan.total_steps, 7 * updates_made(options, 100, 1));
}

TEST(Plan, OfATokenBudgetTakesPartsOfAnEpochAndMaxSteps) {
  TrainingOptions options;
  options.batch_size = options.token_budget = 40;
  const int64_t first = updates_made(options, 100, 1);
  options.epochs = 0.5;
  EXPECT_EQ(plan_of(options, 100).total_steps, (first + 1) / 2);
  options.epochs = 1.5;
  const int64_t second = updates_made(options, 100, 2) - first;
  EXPECT_EQ(plan_of(options, 100).total_steps, first + (second + 1) / 2);
  options.epochs = 3;
  options.max_steps = 5;
  const Plan plan = plan_of(options, 100);
  EXPECT_EQ(plan.total_steps, 5);
  EXPECT_EQ(plan.steps_per_epoch, first);
  EXPECT_EQ(plan.epochs, 5.0 / static_cast<double>(first));
}

}  // namespace
}  // namespace berth
