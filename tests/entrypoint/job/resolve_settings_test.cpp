#include "entrypoint/job/resolve_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/flags.h"
#include "storage/local_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

class ResolveSettingsTest : public testing::Test {
 protected:
  ResolvedJob resolve(const std::vector<std::string>& arguments) {
    std::vector<const char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
    return resolve_settings(*storage_, parse_flags(pointers, {}));
  }
  std::string in_scratch(const std::string& name) const { return scratch_ / name; }

  // Writes a finished job whose length differs from the default, and its model.
  std::string finished_job() {
    return finished_job(
        R"({"settings": {"model": "first", "max-seq-length": "32", "label-column": "kind"},
            "labels": ["no", "yes"], "task": "sequence_classification"})");
  }
  std::string finished_job(const std::string& record) {
    write_text(scratch_ / "job.json", record);
    std::filesystem::create_directory(in_scratch("model"));
    write_text(scratch_ / "model/config.json", "{}");
    return in_scratch(".");
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(ResolveSettingsTest, TrainingKeepsTheModelThatWasNamed) {
  const ResolvedJob job =
      resolve({"--train-data-file", "a.csv", "--job-dir", "job", "--model", "./m"});
  EXPECT_EQ(job.settings.model.model, "./m");
  EXPECT_EQ(job.sources.train.path, "a.csv");
}

// No model is installed beside this test program.
TEST_F(ResolveSettingsTest, TrainingWithoutAModelUsesTheBundledOne) {
  EXPECT_THAT(
      [&] {
        resolve({"--train-data-file", "a.csv", "--job-dir", "job"});
      },
      ThrowsCode(Code::kNotFound, "bundled"));
}

TEST_F(ResolveSettingsTest, AConfigurationAloneIsNoModel) {
  EXPECT_THAT(
      [&] {
        resolve({"--train-data-file", "a.csv", "--job-dir", "job", "--model-config", "c"});
      },
      ThrowsCode(Code::kUsage, "--model"));
}

TEST_F(ResolveSettingsTest, PreparationNeedsNoModel) {
  const ResolvedJob job = resolve({"--mode", "prepare", "--train-data-file", "a.csv",
                                   "--export-dir", "out", "--vocab-file", "vocab.txt"});
  EXPECT_EQ(job.settings.model.model, "");
}

TEST_F(ResolveSettingsTest, EvaluationTakesTheJobsModelAndReadsRowsAsItDid) {
  const std::string directory = finished_job();
  const ResolvedJob job =
      resolve({"--mode", "eval", "--eval-data-file", "a.csv", "--job-dir", directory});
  EXPECT_EQ(job.settings.model.model, (Uri::parse(directory) / "model").to_string());
  EXPECT_EQ(job.settings.data.max_seq_length, 32);
  EXPECT_EQ(job.sources.eval.rules.columns.label, "kind");
}

TEST_F(ResolveSettingsTest, EvaluationMasksAndWeighsAsTheJobDid) {
  const std::string directory = finished_job(
      R"({"settings": {"task": "electra", "mlm-probability": "0.3", "whole-word-masking": "true",
                       "discriminator-weight": "20"}, "labels": []})");
  const std::vector<std::string> asked = {"--mode", "eval",      "--eval-data-file",
                                          "a.txt",  "--job-dir", directory};
  const Settings taken = resolve(asked).settings;
  EXPECT_EQ(taken.data.mlm_probability, 0.3);
  EXPECT_TRUE(taken.data.whole_word_masking);
  EXPECT_EQ(taken.electra.discriminator_weight, 20);
  std::vector<std::string> otherwise = asked;
  otherwise.insert(otherwise.end(), {"--mlm-probability", "0.1", "--no-whole-word-masking"});
  const Settings given = resolve(otherwise).settings;
  EXPECT_EQ(given.data.mlm_probability, 0.1);
  EXPECT_FALSE(given.data.whole_word_masking);
}

TEST_F(ResolveSettingsTest, EvaluationWeighsRowsAsTheJobDidAndPredictionDoesNot) {
  const std::string directory = finished_job(
      R"({"settings": {"task": "classification", "weight-column": "share"}, "labels": ["a", "b"]})");
  EXPECT_EQ(resolve({"--mode", "eval", "--eval-data-file", "a.csv", "--job-dir", directory})
                .settings.data.weight_column,
            "share");
  EXPECT_EQ(resolve({"--mode", "predict", "--predict-data-file", "a.csv", "--job-dir", directory})
                .settings.data.weight_column,
            "");
}

TEST_F(ResolveSettingsTest, EvaluationReadsLabelsAsTheJobDid) {
  const std::string directory = finished_job(
      R"({"settings": {"task": "multi_label", "delimiter": ";", "encoding": "latin-1"},
          "labels": ["a", "b"],
          "reading": {"rules": [], "rows": "0", "labels": {"lists": "names", "separators": "/"}}})");
  const std::vector<std::string> asked = {"--mode", "eval",      "--eval-data-file",
                                          "a.csv",  "--job-dir", directory};
  const DataSources taken = resolve(asked).sources;
  EXPECT_EQ(taken.eval.rules.labels,
            (LabelForm{.lists = LabelLists::kNames, .separators = "/", .is_settled = true}));
  EXPECT_EQ(taken.eval.form.delimiter, ';');
  EXPECT_EQ(taken.eval.form.encoding, TextEncoding::kLatin1);
  std::vector<std::string> otherwise = asked;
  otherwise.insert(otherwise.end(), {"--label-separator", "|"});
  EXPECT_EQ(resolve(otherwise).sources.eval.rules.labels, LabelForm{.separators = "|"});
}

TEST_F(ResolveSettingsTest, EvaluationComparesTextsInBatchesOfTheJob) {
  const std::string directory = finished_job(
      R"({"settings": {"task": "similarity", "batch-size": "24"}, "task": "in_batch_negatives",
          "labels": []})");
  EXPECT_EQ(resolve({"--mode", "eval", "--eval-data-file", "a.csv", "--job-dir", directory})
                .settings.training.batch_size,
            24);
}

TEST_F(ResolveSettingsTest, AnOlderMaskedLanguageModelReadsLineByLine) {
  const auto reading_of = [&](const char* settings) {
    const std::string directory = finished_job(
        std::string(R"({"labels": [], "task": "masked_lm", "settings": )") + settings + "}");
    return resolve({"--mode", "eval", "--eval-data-file", "a.txt", "--job-dir", directory})
        .settings.data;
  };
  EXPECT_TRUE(reading_of(R"({"task": "mlm"})").line_by_line);
  EXPECT_TRUE(reading_of(R"({"task": "mlm"})").words_end_at_spaces);
  EXPECT_FALSE(reading_of(R"({"task": "mlm", "line-by-line": "false"})").line_by_line);
  EXPECT_FALSE(reading_of(R"({"task": "mlm", "line-by-line": "false"})").words_end_at_spaces);
}

TEST_F(ResolveSettingsTest, AFlagBeatsTheEarlierJob) {
  const ResolvedJob job = resolve({"--mode", "eval", "--eval-data-file", "a.csv", "--job-dir",
                                   finished_job(), "--max-seq-length", "64"});
  EXPECT_EQ(job.settings.data.max_seq_length, 64);
}

TEST_F(ResolveSettingsTest, AnotherModelThanTheJobsIsKept) {
  const ResolvedJob job = resolve({"--mode", "eval", "--eval-data-file", "a.csv", "--job-dir",
                                   finished_job(), "--model", "./other"});
  EXPECT_EQ(job.settings.model.model, "./other");
  EXPECT_EQ(job.settings.data.max_seq_length, DataOptions().max_seq_length);
}

TEST_F(ResolveSettingsTest, AJobThatHasNotFinishedIsNotFound) {
  const std::string directory = finished_job();
  std::filesystem::remove_all(in_scratch("model"));
  EXPECT_THAT(
      [&] {
        resolve({"--mode", "eval", "--eval-data-file", "a.csv", "--job-dir", directory});
      },
      ThrowsCode(Code::kNotFound, "--mode export_only"));
}

TEST_F(ResolveSettingsTest, ADirectoryWithoutAJobIsNoNameOfTheHub) {
  // The hub could have a model of the name "nowhere/model".
  EXPECT_THAT(
      [&] {
        resolve({"--mode", "predict", "--predict-data-file", "a.csv", "--job-dir", "nowhere"});
      },
      ThrowsCode(Code::kNotFound, "nowhere: there is no finished job here; check --job-dir"));
}

TEST_F(ResolveSettingsTest, AModelWithoutARecordIsFound) {
  std::filesystem::create_directory(in_scratch("model"));
  write_text(scratch_ / "model/config.json", "{}");
  const ResolvedJob job =
      resolve({"--mode", "eval", "--eval-data-file", "a.csv", "--job-dir", in_scratch("")});
  EXPECT_EQ(job.settings.model.model, in_scratch("model"));
}

TEST_F(ResolveSettingsTest, AnExportHasTheAdaptersAndTheModelThatTheJobBeganWith) {
  const EarlierJob earlier(
      Uri::parse("job"),
      R"({"settings": {"model": "first", "lora-rank": "4", "lora-alpha": "16"}, "labels": []})");
  Settings asked;
  asked.output.job_dir = "job";
  const Settings settings = resolve_export(asked, earlier);
  EXPECT_EQ(settings.model.model, "first");
  EXPECT_EQ(settings.training.optimization.lora.rank, 4);
  EXPECT_EQ(settings.training.optimization.lora.alpha, 16);
  EXPECT_EQ(settings.output.job_dir, "job");
}

}  // namespace
}  // namespace berth
