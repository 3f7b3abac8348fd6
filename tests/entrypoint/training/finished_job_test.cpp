#include "entrypoint/training/finished_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <tuple>

#include "entrypoint/flags/flags.h"
#include "entrypoint/job/earlier_job.h"
#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "trainer/inputs/job_record.h"

namespace berth {
namespace {

class FinishedJobTest : public testing::Test {
 protected:
  CommandLine command(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"--train-data-file", "a.csv", "--job-dir",
                                          scratch_ / "job"};
    for (std::string& argument : more) arguments.push_back(std::move(argument));
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    return parse_flags(pointers, {});
  }
  // Writes the record of `command` to the job directory.
  void begin(const CommandLine& command) {
    write_text(*storage_, directory().record(),
               to_json(JobRecord{.settings = settings_table(command.settings)}));
  }
  void finish() {
    write_text(*storage_, directory().metrics(),
               R"({"train": {"steps": 7}, "model_bytes": {"model.safetensors": 9, "a/x.bin": 2},
                   "finished": true})");
    write_text(*storage_, directory().model() / "config.json", "{}");
    write_text(*storage_, directory().model() / "model.safetensors", "nine byte");
    write_text(*storage_, directory().model() / "a/x.bin", "22");
  }
  void save(const char* checkpoint) {
    for (const char* name :
         {"model.safetensors", "optimizer.safetensors", "state.json", "MANIFEST.json"}) {
      write_text(*storage_, directory().checkpoints() / checkpoint / name, "{}");
    }
  }
  JobDirectory directory() const { return JobDirectory(Uri::parse(scratch_ / "job")); }
  std::optional<FinishedJob> look(const CommandLine& command) {
    return find_finished_job(*storage_, command, directory());
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(FinishedJobTest, ANewDirectoryHasWorkLeft) { EXPECT_FALSE(look(command())); }

TEST_F(FinishedJobTest, AnInterruptedJobHasWorkLeft) {
  begin(command());
  EXPECT_FALSE(look(command()));
}

TEST_F(FinishedJobTest, AFinishedJobThatIsToBecomeLongerNeedsItsCheckpoints) {
  begin(command());
  finish();
  EXPECT_THAT(
      [this] {
        look(command({"--max-steps", "9"}));
      },
      ThrowsCode(Code::kNotFound, "cannot become longer"));
}

TEST_F(FinishedJobTest, AFinishedJobReportsItsUpdates) {
  begin(command());
  finish();
  const std::optional<FinishedJob> finished = look(command());
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->steps, 7);
  EXPECT_TRUE(finished->has_model);
}

TEST_F(FinishedJobTest, AModelThatWasRemovedCanBeWrittenFromACheckpoint) {
  begin(command());
  finish();
  std::filesystem::remove_all(scratch_ / "job/model");
  EXPECT_THAT([&] { look(command()); }, ThrowsCode(Code::kNotFound, "its checkpoints"));
  save("step-00000007");
  EXPECT_FALSE(look(command()).value().has_model);
}

TEST_F(FinishedJobTest, AModelThatLostBytesIsNoModel) {
  begin(command());
  for (const char* file : {"model.safetensors", "a/x.bin"}) {
    finish();
    save("step-00000007");
    EXPECT_TRUE(look(command()).value().has_model);
    write_text(*storage_, directory().model() / file, "1");
    EXPECT_FALSE(look(command()).value().has_model) << file;
  }
}

TEST_F(FinishedJobTest, AnOlderCheckpointIsNamedWhereTheLastOneIsGone) {
  begin(command());
  finish();
  save("step-00000004");
  EXPECT_TRUE(look(command()).value().has_model);
  std::filesystem::remove_all(scratch_ / "job/model");
  EXPECT_THAT([&] { look(command()); }, ThrowsCode(Code::kNotFound, "its last checkpoint"));
  EXPECT_THAT([&] { look(command()); }, ThrowsCode(Code::kNotFound, "step-00000004"));
  EXPECT_THAT([&] { look(command()); }, ThrowsCode(Code::kNotFound, "--mode export_only"));
}

TEST_F(FinishedJobTest, TheEvaluationBelongsToTheStepOfTheModel) {
  const auto evaluated = [this](const std::string& flag, const std::string& model_step,
                                int64_t step) {
    begin(command({flag}));
    write_text(*storage_, directory().metrics(),
               cat(R"({"train": {"steps": 7)", model_step,
                   R"(}, "eval": {"examples": 3}, "finished": true})"));
    const EarlierJob job = EarlierJob::find(*storage_, directory().root()).value();
    return evaluation_of_step(*storage_, job, step, /*best=*/4).has_value();
  };
  const std::string takes_best = "--load-best-model-at-end", takes_last = "--report";
  for (const auto& [flag, model_step, step] :
       {std::tuple(takes_last, "", 7), std::tuple(takes_best, "", 4),
        std::tuple(takes_best, R"(, "model_step": 4)", 4),
        std::tuple(takes_best, R"(, "model_step": 7)", 7)}) {
    EXPECT_TRUE(evaluated(flag, model_step, step)) << flag << model_step;
    EXPECT_FALSE(evaluated(flag, model_step, step == 4 ? 7 : 4)) << flag << model_step;
  }
}

TEST_F(FinishedJobTest, OtherSettingsBelongToAnotherJob) {
  begin(command());
  EXPECT_THAT(
      [&] {
        look(command({"--learning-rate", "1e-3"}));
      },
      ThrowsCode(Code::kIncompatible, "--learning-rate"));
}

// The program once had no such flag, and all jobs computed in fp32.
TEST_F(FinishedJobTest, AJobWithoutAPrecisionComputedInFp32) {
  CommandLine old = command();
  std::string record = to_json(JobRecord{.settings = settings_table(old.settings)});
  const std::string line = "    \"precision\": \"auto\",\n";
  ASSERT_NE(record.find(line), record.npos) << record;
  record.erase(record.find(line), line.size());
  write_text(*storage_, directory().record(), record);
  finish();
  EXPECT_EQ(precision_of_job(*storage_, directory()), Precision::kFp32);
  EXPECT_TRUE(look(command({"--precision", "fp32"})));
  EXPECT_THAT(
      [&] {
        look(command({"--precision", "auto"}));
      },
      ThrowsCode(Code::kIncompatible, "--precision"));
}

TEST_F(FinishedJobTest, TheRecordSaysWhichPrecisionTheJobBeganWith) {
  EXPECT_EQ(precision_of_job(*storage_, directory()), std::nullopt);
  for (const char* name : {"auto", "fp32", "bf16"}) {
    begin(command({"--precision", name}));
    EXPECT_EQ(name_of(precision_of_job(*storage_, directory()).value()), name);
  }
}

TEST_F(FinishedJobTest, AUsedDirectoryIsRefusedIfAFlagAsksForIt) {
  begin(command());
  EXPECT_THAT([&] { look(command({"--no-reuse-job-dir"})); },
              ThrowsCode(Code::kIncompatible, "used before"));
}

TEST_F(FinishedJobTest, AFinishedJobDoesNotExportElsewhere) {
  begin(command());
  finish();
  EXPECT_THAT(
      [&] {
        look(command({"--export-dir", "elsewhere"}));
      },
      ThrowsCode(Code::kIncompatible, "--mode export_only"));
}

TEST_F(FinishedJobTest, AJobOfSeveralSeedsIsIncompatible) {
  write_text(*storage_, directory().metrics(), R"({"seeds": {}, "finished": true})");
  EXPECT_THAT([&] { look(command()); }, ThrowsCode(Code::kIncompatible, "several seeds"));
}

}  // namespace
}  // namespace berth
