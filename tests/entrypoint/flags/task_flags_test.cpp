#include "entrypoint/flags/task_flags.h"

#include <gtest/gtest.h>

#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flags.h"
#include "tests/support/captured_log.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

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

TEST(TaskFlags, FlagsWithoutARuleAreForAllTasks) {
  const FlagRole role = find_flag("learning-rate")->role;
  for (const TaskTraits& task : task_table()) EXPECT_TRUE(role.is_heeded_by(task.task));
}

}  // namespace
}  // namespace berth
