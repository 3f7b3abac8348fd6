#include <gtest/gtest.h>

#include <type_traits>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flags.h"

namespace berth {
namespace {

// Who adds a flag must say what it is to a job.
static_assert(!std::is_default_constructible_v<FlagRole>);

Effect effect_of(std::string_view name, const Settings& settings) {
  for (const Setting& setting : settings_table(settings)) {
    if (setting.name == name) return setting.effect;
  }
  return Effect::kUnrecorded;
}

TEST(FlagRole, AResumedJobMayChangeWhatLeavesItsWeightsAlone) {
  for (const char* name :
       {"job-dir", "export-dir", "checkpoint-dir", "summary-dir", "save-steps", "save-minutes",
        "save-total-limit", "logging-steps", "eval-steps", "eval-batch-size", "hypertune-metric",
        "recompute", "device", "threads", "probe", "shard-optimizer"}) {
    EXPECT_EQ(effect_of(name, {}), Effect::kFree) << name;
  }
  EXPECT_EQ(effect_of("epochs", {}), Effect::kLength);
  EXPECT_EQ(effect_of("train-data-file", {}), Effect::kPlace);
  EXPECT_EQ(effect_of("learning-rate", {}), Effect::kDecides);
  EXPECT_EQ(effect_of("dry-run", {}), Effect::kUnrecorded);
}

TEST(FlagRole, EvalStepsDecideWhereTheResultDependsOnEvaluations) {
  Settings settings;
  EXPECT_EQ(effect_of("eval-steps", settings), Effect::kFree);
  settings.training.early_stopping_patience = 2;
  EXPECT_EQ(effect_of("eval-steps", settings), Effect::kDecides);
  settings.training.early_stopping_patience = 0;
  settings.training.load_best_model_at_end = true;
  EXPECT_EQ(effect_of("eval-steps", settings), Effect::kDecides);
}

TEST(FlagRole, TheModeDecidesWhereItHoldsOutRows) {
  Settings settings;
  EXPECT_EQ(effect_of("mode", settings), Effect::kDecides);
  settings.data.eval_data_file = "dev.csv";
  EXPECT_EQ(effect_of("mode", settings), Effect::kFree);
  settings.data = {.data_dir = "glue/MRPC"};
  EXPECT_EQ(effect_of("mode", settings), Effect::kFree);
  settings.data = {.validation_split = 0};
  EXPECT_EQ(effect_of("mode", settings), Effect::kFree);
}

TEST(FlagRole, ARuleAddsAModeThatUsesTheFlag) {
  const FlagRole& role = find_flag("eval-data-file")->role;
  Settings settings;
  settings.mode = Mode::kPredict;
  EXPECT_FALSE(role.is_used(settings));
  settings.precision = Precision::kInt8;  // which tells its cost
  EXPECT_TRUE(role.is_used(settings));
  settings.mode = Mode::kTrain;
  EXPECT_FALSE(role.is_used(settings));
}

TEST(FlagRole, ASettingOfEachWorkerIsNoSettingThatAJobMustKeep) {
  for (const Flag& flag : flag_table()) {
    if (flag.role.has(kOwnToWorker)) {
      EXPECT_EQ(flag.role.effect, Effect::kFree) << flag.name;
    }
    if (flag.role.has(kAsTrained | kAsScored | kAsBatched | kVaried | kNoHparam)) {
      EXPECT_TRUE(flag.role.is_recorded()) << flag.name;
    }
  }
}

}  // namespace
}  // namespace berth
