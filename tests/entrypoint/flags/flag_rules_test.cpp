#include "entrypoint/flags/flag_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flags.h"
#include "tests/support/captured_log.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

constexpr DeviceKind kAccelerators[] = {DeviceKind::kTpu, DeviceKind::kGpu, DeviceKind::kXlaCpu};

// Expects that the CPU alone computes what `line` asks for.
void is_for_cpus(const CommandLine& line, const std::string& says, std::optional<Task> task = {}) {
  EXPECT_NO_THROW(require_device(line, DeviceKind::kCpu, task)) << says;
  EXPECT_NO_THROW(require_device(line, DeviceKind::kAuto, task)) << says;
  for (const DeviceKind kind : kAccelerators) {
    EXPECT_THAT([&] { require_device(line, kind, task); }, ThrowsCode(Code::kUsage, says));
  }
}

TEST(DeviceRules, EveryDeviceTrainsTheUsualTasks) {
  for (const char* task : {"classification", "regression", "multi_label", "ner", "qa", "mlm",
                           "mlm_nsp", "electra", "similarity", "reranking", "multiple_choice"}) {
    CommandLine line;
    line.settings.data.task = task;
    EXPECT_NO_THROW(require_device(line, DeviceKind::kCpu)) << task;
    for (const DeviceKind kind : kAccelerators) EXPECT_NO_THROW(require_device(line, kind)) << task;
    EXPECT_EQ(needs_cpu(line), "") << task;
  }
}

TEST(DeviceRules, GradientCachingOfWorkersIsForCpus) {
  CommandLine line;
  line.settings.training.embedding_mini_batch_size = 16;
  EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu, Task::kSimilarity));
  line.cluster.size = 2;
  is_for_cpus(line,
              "--embedding-mini-batch-size: workers with TPUs or GPUs cannot cache gradients");
}

// Without --task, the rows or the model tell it later.
TEST(DeviceRules, ATaskThatIsFoundLaterCounts) {
  CommandLine line;
  line.cluster.size = 2;
  EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu));
  is_for_cpus(line, "--task electra: workers with TPUs or GPUs cannot train a generator",
              Task::kReplacedTokenDetection);
  line.cluster.size = 1;
  EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu, Task::kReplacedTokenDetection));
}

TEST(DeviceRules, TeachersAreForAllDevices) {
  CommandLine line;
  line.settings.distillation.teacher = "teacher";
  for (const Task task : {Task::kSequenceClassification, Task::kEmbeddingDistillation,
                          Task::kHiddenStateDistillation}) {
    EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu, task));
  }
}

TEST(DeviceRules, ATeacherOfTextsIsForCpus) {
  for (const SimilarityLoss loss :
       {SimilarityLoss::kMarginMse, SimilarityLoss::kDistillKl, SimilarityLoss::kEmbeddingMse,
        SimilarityLoss::kEmbeddingCosine}) {
    CommandLine line;
    line.settings.embedding.loss = loss;
    is_for_cpus(line, "--similarity-loss: TPUs and GPUs learn nothing from a teacher of texts");
    EXPECT_EQ(needs_cpu(line), "--similarity-loss");
    line.settings.mode = Mode::kEmbed;
    EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu));
  }
  CommandLine line;
  line.settings.distillation.teacher = "teacher";
  for (const Task task : {Task::kSimilarity, Task::kInBatchNegatives}) {
    is_for_cpus(line, "--teacher: TPUs and GPUs learn nothing from a teacher of texts", task);
  }
  EXPECT_EQ(needs_cpu(line), "");
  line.settings.data.task = "similarity";
  EXPECT_EQ(needs_cpu(line), "--teacher");
}

TEST(DeviceRules, AnotherModelAsAGuideIsForCpus) {
  CommandLine line;
  line.settings.embedding.guide = "guide";
  is_for_cpus(line, "--guide: TPUs and GPUs have no other model as a guide");
  EXPECT_EQ(needs_cpu(line), "--guide");
  line.settings.mode = Mode::kEval;  // which does not ask it
  EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu));
  line = {};
  line.settings.embedding.guide = kOwnGuide;
  EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu));
}

TEST(DeviceRules, SeveralSourcesAreForCpus) {
  CommandLine line;
  line.settings.data.train_sources = "other.csv";
  is_for_cpus(line, "--train-source: TPUs and GPUs do not train on several sources of rows");
  EXPECT_EQ(needs_cpu(line), "--train-source");
}

TEST(DeviceRules, Int8IsForCpus) {
  CommandLine line;
  line.settings.mode = Mode::kPredict;
  line.settings.precision = Precision::kInt8;
  is_for_cpus(line, "--precision int8: products in int8 are made on CPUs only");
  EXPECT_EQ(needs_cpu(line), "--precision int8");
  line.settings.precision = Precision::kFp32;
  for (const Mode mode : {Mode::kEmbed, Mode::kMine}) {
    line.settings.mode = mode;
    EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu));
  }
}

TEST(DeviceRules, ThreefryIsForAccelerators) {
  CommandLine line;
  line.device.generator = DropoutGenerator::kThreefry;
  EXPECT_THAT([&] { require_device(line, DeviceKind::kCpu); },
              ThrowsCode(Code::kUsage, "the CPU draws dropout by Philox only"));
  EXPECT_NO_THROW(require_device(line, DeviceKind::kTpu));
}

CommandLine parsed(std::vector<const char*> flags) {
  flags.insert(flags.begin(), {"--train-data-file", "a.csv", "--job-dir=out"});
  return parse_flags(flags, Platform());
}
bool never(std::string_view, std::string_view) { return false; }

TEST(TaskFlags, AFlagThatChangesNothingIsRefusedByName) {
  const CommandLine smooths = parsed({"--label-smoothing", "0.1"});
  for (const Task task :
       {Task::kMultiLabel, Task::kRegression, Task::kQuestionAnswering, Task::kSimilarity,
        Task::kInBatchNegatives, Task::kEmbeddingDistillation}) {
    EXPECT_THAT([&] { require_heeded(smooths, task, never); },
                ThrowsCode(Code::kUsage, "--label-smoothing: the flag changes nothing"));
  }
  for (const Task task : {Task::kSequenceClassification, Task::kTokenClassification,
                          Task::kMaskedLm, Task::kReplacedTokenDetection}) {
    EXPECT_NO_THROW(require_heeded(smooths, task, never));
  }
}

TEST(TaskFlags, TheDefaultIsNoWish) {
  const CommandLine line = parsed({"--label-smoothing", "0.0", "--n-best-size", "20"});
  EXPECT_NO_THROW(require_heeded(line, Task::kMultiLabel, never));
}

TEST(TaskFlags, AJobThatAnEarlierVersionBeganGoesOn) {
  const CommandLine line = parsed({"--label-smoothing", "0.1"});
  CapturedLog log;
  require_heeded(line, Task::kRegression, [](std::string_view flag, std::string_view value) {
    return flag == "label-smoothing" && value == "0.1";
  });
  EXPECT_NE(log.warnings().find("changes nothing in a training of regression"), std::string::npos);
}

TEST(UsedFlags, AFlagThatOtherFlagsMakeUselessIsRefused) {
  const auto refused = [](std::vector<const char*> flags, const char* says) {
    const CommandLine line = parsed(std::move(flags));
    EXPECT_THAT([&] { require_used(line, 5e-5, never); }, ThrowsCode(Code::kUsage, says));
    CapturedLog log;
    require_used(line, 5e-5, [](std::string_view, std::string_view) { return true; });
    EXPECT_NE(log.warnings(), "") << "an earlier job goes on";
  };
  refused({"--lr-power=2"}, "--lr-power: the flag changes nothing");
  refused({"--lr-scheduler-type=constant", "--lr-end=1e-6"}, "--lr-end: the flag changes nothing");
  refused({"--lr-end=1e-4"}, "above its peak of 5e-5");
  refused({"--task=electra", "--generator=g", "--generator-hidden-fraction=0.5"},
          "--generator-hidden-fraction: the flag changes nothing");
  refused({"--distillation-weight=0.9"}, "--distillation-weight: the flag changes nothing");
  refused({"--distillation-temperature=4"}, "leave it out, or give a --teacher");
  refused({"--null-score-diff-threshold=1"}, "give --version-2-with-negative");
  for (const std::vector<const char*>& flags :
       {std::vector<const char*>{"--lr-power=1", "--lr-end=0"},
        {"--lr-scheduler-type=polynomial", "--lr-power=2", "--lr-end=1e-6"},
        {"--lr-scheduler-type=cosine", "--lr-end=5e-5"}}) {
    EXPECT_NO_THROW(require_used(parsed(flags), 5e-5, never));
  }
  EXPECT_NO_THROW(require_used(parsed({"--lr-end=1e-4"}), std::nullopt, never));
}

TEST(UsedFlags, RowsThatAreMaskedAreNotMaskedAgain) {
  for (const char* flag : {"--mlm-probability=0.3", "--whole-word-masking"}) {
    EXPECT_THAT(
        [&] {
          require_no_masking(parsed({"--task=mlm", flag}), never);
        },
        ThrowsCode(Code::kUsage, "masked already"));
  }
  EXPECT_NO_THROW(require_no_masking(parsed({"--task=mlm", "--mlm-probability=0.15"}), never));
}

// What heed_flags_of_model() warns of.
std::string unheeded(std::vector<const char*> flags, Task task) {
  flags.insert(flags.end(), {"--predict-data-file=a.csv", "--eval-data-file=a.csv", "--job-dir=j"});
  const CommandLine line = parse_flags(flags, Platform());
  CapturedLog log;
  heed_flags_of_model(line, task);
  return log.warnings();
}

TEST(TaskFlags, AFinishedModelSaysWhatItDoesNotHeed) {
  constexpr Task kClasses = Task::kSequenceClassification;
  EXPECT_THAT(unheeded({"--mode=predict", "--pooling=cls", "--n-best-size=3"}, kClasses),
              testing::HasSubstr("--mode predict of sequence_classification does not use "
                                 "--n-best-size, --pooling"));
  EXPECT_THAT(unheeded({"--mode=eval", "--guide=self", "--max-similarity=5"}, kClasses),
              testing::HasSubstr("does not use --guide, --max-similarity"));
  EXPECT_THAT(unheeded({"--mode=embed", "--pooling=cls", "--n-best-size=3"}, Task::kTextEmbedding),
              testing::HasSubstr("--mode embed does not use --n-best-size"));
  EXPECT_EQ(unheeded({"--mode=eval", "--n-best-size=3"}, Task::kQuestionAnswering), "");
  EXPECT_EQ(unheeded({"--mode=eval", "--guide=self"}, Task::kSimilarity), "")
      << "rows without labels heed it";
  EXPECT_EQ(unheeded({"--mode=predict", "--epochs=9"}, kClasses), "") << "unused_flags() says it";
  // With a prompt, the scores would be other ones.
  EXPECT_EQ(unheeded({"--mode=predict", "--query-prompt=query: "}, Task::kSimilarity), "");
  EXPECT_THAT(
      [] {
        unheeded({"--mode=predict", "--query-prompt=query: "}, Task::kReranking);
      },
      ThrowsCode(Code::kUsage, "changes nothing in --mode predict of reranking"));
}

TEST(TaskFlags, FlagsWithoutARuleAreForAllTasks) {
  const FlagRole role = find_flag("learning-rate")->role;
  for (const TaskTraits& task : task_table()) EXPECT_TRUE(role.is_heeded_by(task.task));
}

}  // namespace
}  // namespace berth
