#include "entrypoint/flags/device_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  for (const char* task : {"classification", "regression", "multi_label", "ner", "qa", "mlm"}) {
    CommandLine line;
    line.settings.data.task = task;
    EXPECT_NO_THROW(require_device(line, DeviceKind::kCpu)) << task;
    for (const DeviceKind kind : kAccelerators) EXPECT_NO_THROW(require_device(line, kind)) << task;
    EXPECT_EQ(needs_cpu(line), "") << task;
  }
}

TEST(DeviceRules, SomeTasksAreForCpus) {
  CommandLine line;
  line.settings.data.task = "similarity";
  is_for_cpus(line, "--device: text embeddings are computed on CPUs only");
  EXPECT_EQ(needs_cpu(line), "--task similarity");
  line.settings.data.task = "electra";
  is_for_cpus(line, "--task electra: replaced-token detection is computed on CPUs only");
  EXPECT_EQ(needs_cpu(line), "--task electra");
}

// Without --task, the rows or the model tell it later.
TEST(DeviceRules, ATaskThatIsFoundLaterCounts) {
  is_for_cpus(CommandLine(), "text embeddings", Task::kSimilarity);
  is_for_cpus(CommandLine(), "text embeddings", Task::kInBatchNegatives);
  EXPECT_EQ(needs_cpu(CommandLine()), "");
}

TEST(DeviceRules, ATeacherOfClassesIsForCpusAndOneOfVectorsIsNot) {
  CommandLine line;
  line.settings.distillation.teacher = "teacher";
  EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu));
  is_for_cpus(line, "--teacher: a classifier learns", Task::kSequenceClassification);
  line.settings.data.task = "mlm";
  EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu));
  EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu, Task::kEmbeddingDistillation));
  EXPECT_NO_THROW(require_device(line, DeviceKind::kGpu, Task::kHiddenStateDistillation));
}

TEST(DeviceRules, Int8AndEmbeddingsAreForCpus) {
  CommandLine line;
  line.settings.mode = Mode::kPredict;
  line.settings.precision = Precision::kInt8;
  is_for_cpus(line, "--precision int8: products in int8 are made on CPUs only");
  EXPECT_EQ(needs_cpu(line), "--precision int8");
  line.settings.precision = Precision::kFp32;
  line.settings.mode = Mode::kEmbed;
  is_for_cpus(line, "--device: text embeddings are computed on CPUs only");
}

TEST(DeviceRules, ThreefryIsForAccelerators) {
  CommandLine line;
  line.device.generator = DropoutGenerator::kThreefry;
  EXPECT_THAT([&] { require_device(line, DeviceKind::kCpu); },
              ThrowsCode(Code::kUsage, "the CPU draws dropout by Philox only"));
  EXPECT_NO_THROW(require_device(line, DeviceKind::kTpu));
}

}  // namespace
}  // namespace berth
