#include "entrypoint/job/resolve_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/flags.h"
#include "storage/archived_storage.h"
#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/tar_bytes.h"
#include "tests/support/throws_code.h"
#include "trainer/data/features.h"
#include "trainer/inputs/data_source.h"

namespace berth {
namespace {

using testing::ElementsAre;

class MetaDataTest : public testing::Test {
 protected:
  MetaDataTest() { settings_.data.train_data_file = "a/train.tf_record-*"; }
  DataSources resolve(const std::string& json) {
    write_text(scratch_ / "meta.json", json);
    settings_.data.input_meta_data_path = scratch_ / "meta.json";
    return resolve_data(*storage_, command_line_, settings_);
  }
  void refuses(const std::string& json, const std::string& says) {
    EXPECT_THAT([&] { resolve(json); }, ThrowsCode(Code::kBadData, says));
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  CommandLine command_line_;
  Settings settings_;
};

TEST_F(MetaDataTest, NamesTheNumbersOfRecords) {
  const DataSources sources =
      resolve(R"({"max_seq_length": 64, "num_labels": 2, "labels": ["no", "yes"]})");
  EXPECT_EQ(settings_.data.max_seq_length, 64);
  EXPECT_THAT(sources.labels, ElementsAre("no", "yes"));
  EXPECT_THAT(sources.train.rules.record_labels, ElementsAre("no", "yes"));
}

TEST_F(MetaDataTest, AFlagBeatsTheLength) {
  settings_.data.max_seq_length = 32;
  command_line_.given = {"max-seq-length"};
  resolve(R"({"max_seq_length": 64})");
  EXPECT_EQ(settings_.data.max_seq_length, 32);
}

TEST_F(MetaDataTest, WithoutNamesNumbersAreTheNames) {
  const DataSources sources = resolve(R"({"num_labels": 3, "task_type": "bert_classification"})");
  EXPECT_THAT(sources.labels, ElementsAre("0", "1", "2"));
  EXPECT_TRUE(sources.train.rules.record_labels.empty());
  EXPECT_EQ(sources.task, std::nullopt);
}

TEST_F(MetaDataTest, DoesNotNameTheLabelsOfTexts) {
  settings_.data.train_data_file = "a/train.csv";
  const DataSources sources = resolve(R"({"num_labels": 2, "labels": ["no", "yes"]})");
  EXPECT_TRUE(sources.labels.empty());
  EXPECT_TRUE(sources.train.rules.record_labels.empty());
}

TEST_F(MetaDataTest, GivesTheTask) {
  EXPECT_EQ(resolve(R"({"task_type": "bert_regression"})").task, Task::kRegression);
  EXPECT_EQ(resolve(R"({"task_type": "bert_tagging"})").task, Task::kTokenClassification);
  EXPECT_EQ(resolve(R"({"task_type": "bert_multi_label"})").task, Task::kMultiLabel);
}

TEST_F(MetaDataTest, MalformedMetaDataIsRefused) {
  refuses("[]", "is not a JSON object");
  for (const char* length : {"0", "3", "-64", "64.5", "4294967424", "1e300", "\"64\""}) {
    refuses(cat(R"({"max_seq_length": )", length, "}"), "max_seq_length");
  }
  refuses(R"({"num_labels": 1000000000000})", "num_labels");
  refuses(R"({"labels": "a"})", "is not a list");
  refuses(R"({"labels": [1]})", "holds something other than texts");
  refuses(R"({"num_labels": 2, "labels": ["a"]})", "num_labels");
}

TEST(ArchivedSplits, AreUsedAsThoseOfAFolderOnceTheArchiveMayBeFetched) {
  ScratchDirectory scratch;
  const auto files = make_local_storage();
  write_text(*files, Uri::parse(scratch / "b/data.tar"),
             TarBytes()
                 .file("d/dataset_dict.json", R"({"splits": ["train", "test"]})")
                 .file("d/train/state.json", R"({"_data_files": [{"filename": "a.arrow"}]})")
                 .file("d/test/state.json", R"({"_data_files": [{"filename": "b.arrow"}]})")
                 .end());
  BucketOfFiles bucket(*files, scratch.path().string());
  const auto storage = make_archived_storage(std::make_unique<BorrowedStorage>(bucket));
  Settings settings;
  settings.data.train_data_file = "gs://b/data.tar";
  const CommandLine command_line;
  DataSources sources = resolve_data(*storage, command_line, settings);
  EXPECT_EQ(sources.eval.path, "");
  EXPECT_EQ(bucket.opens, 0);
  use_archived_splits(*storage, command_line, settings, sources);
  EXPECT_EQ(sources.eval.path, "gs://b/data.tar");
  EXPECT_EQ(settings.data.eval_data_file, "gs://b/data.tar");
  for (const auto& [request, file] :
       {std::pair(sources.train, "d/train/a.arrow"), std::pair(sources.eval, "d/test/b.arrow")}) {
    EXPECT_THAT(DataSource(*storage, request.path).files(request.role),
                ElementsAre(Uri::parse(cat("gs://b/data.tar/", file))));
  }
}

TEST(DataNeeds, PredictionReadsNoLabels) {
  const std::unique_ptr<Storage> storage = make_local_storage();
  Settings settings;
  settings.data.task = "cola";
  settings.data.data_dir = "CoLA";
  settings.mode = Mode::kPredict;
  const CommandLine command_line;
  const DataSources sources = resolve_data(*storage, command_line, settings);
  EXPECT_EQ(sources.predict.rules.need, LabelNeed::kIgnored);
  EXPECT_EQ(sources.eval.rules.need, LabelNeed::kRequired);
  EXPECT_EQ(sources.predict.rules.columns.text, "sentence");  // only test.tsv has a header
  EXPECT_EQ(sources.predict.layout, RowLayout::kByName);
  settings.data.train_data_file = "CoLA/train.tsv.gz";
  EXPECT_EQ(resolve_data(*storage, command_line, settings).train.layout, RowLayout::kHeadlessTsv);
  settings.mode = Mode::kPrepare;
  EXPECT_EQ(resolve_data(*storage, command_line, settings).predict.rules.need,
            LabelNeed::kIfPresent);
}

TEST(GlueColumns, AreReplacedByThoseThatFlagsName) {
  const std::unique_ptr<Storage> storage = make_local_storage();
  Settings settings;
  settings.data.task = "mrpc";
  settings.data.data_dir = "MRPC";
  settings.data.weight_column = "w";
  settings.data.label_column = "mine";
  const ColumnChoice columns = resolve_data(*storage, CommandLine(), settings).train.rules.columns;
  EXPECT_EQ(columns.text, "#1 String");
  EXPECT_EQ(columns.label, "mine");
  EXPECT_EQ(columns.weight, "w");
}

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

TEST_F(ResolveSettingsTest, AnOlderJobDividesAndShufflesItsRowsAsItBegan) {
  const auto read = [&](const char* rules) {
    const std::string directory =
        finished_job(std::string(R"({"labels": ["a", "b"], "task": "classification",
                        "settings": {"line-by-line": "false"}, "reading": {"rules": [)") +
                     rules + "]}}");
    return resolve({"--mode", "eval", "--eval-data-file", "a.csv", "--job-dir", directory})
        .settings.data;
  };
  EXPECT_TRUE(read("").reads_in_order);
  EXPECT_FALSE(read(R"("blocks of a large table have rows of all of it")").reads_in_order);
  EXPECT_TRUE(read("").holds_out_blank);
  EXPECT_FALSE(read(R"("rows without a text are divided like others")").holds_out_blank);
}

TEST_F(ResolveSettingsTest, ColumnsOfAnotherFileAreNotTheJobs) {
  const auto usual_words = [&](const std::string& columns) {
    const std::string directory = finished_job(
        R"({"labels": ["B-X", "O"], "task": "token_classification",
            "settings": {"line-by-line": "false"},
            "reading": {"rules": ["columns 2 and 3 of CoNLL"])" +
        columns + "}}");
    return resolve({"--mode", "eval", "--eval-data-file", "a.conll", "--job-dir", directory})
        .settings.data.text_form.usual_words;
  };
  EXPECT_EQ(usual_words(""), "2");
  EXPECT_EQ(usual_words(R"(, "columns": {"text": "tokens", "label": "tags"})"), "");
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

// Earlier versions have learned from the first text of a pair alone.
TEST_F(ResolveSettingsTest, AnOlderJobOfDocumentsReadsTheFirstTextsOfPairs) {
  const auto pair_of = [&](const char* rules) {
    const std::string directory =
        finished_job(cat(R"({"labels": [], "task": "masked_lm", "settings": {"task": "masked_lm"},
            "reading": {"columns": {"text": "sentence1", "text_pair": "sentence2"},
                        "rules": [)",
                         rules, "]}}"));
    return resolve({"--mode", "eval", "--eval-data-file", "a.csv", "--job-dir", directory})
        .sources.eval.rules.columns.trained->text_pair;
  };
  EXPECT_EQ(pair_of(""), "");
  EXPECT_EQ(pair_of(R"("pairs of texts are documents")"), "sentence2");
}

// A job whose rows had words with a token for their space, as this version reads them, says so.
TEST_F(ResolveSettingsTest, AFinishedJobMayLackTheRuleOfSpaces) {
  std::filesystem::create_directory(in_scratch("model"));
  write_text(scratch_ / "model/config.json", "{}");
  const auto lacks_rule = [&](const std::string& rules) {
    write_text(scratch_ / "job.json",
               cat(R"({"settings": {}, "labels": [], "reading": {"tokenizer": [)", rules, "]}}"));
    return resolve({"--mode", "eval", "--eval-data-file", "a.csv", "--job-dir", in_scratch("")})
        .lacks_space_rule;
  };
  EXPECT_TRUE(lacks_rule(""));
  EXPECT_FALSE(lacks_rule(cat("\"", kSpaceRule, "\"")));
}

TEST(EarlierJob, ASettingThatThisVersionRefusesIsAtItsDefault) {
  const EarlierJob earlier(
      Uri::parse("job"),
      R"({"settings": {"lora-rank": "many", "lora-alpha": "8", "max-seq-length": "1"}, "labels": []})");
  EXPECT_EQ(earlier.setting("lora-rank"), "many");
  EXPECT_EQ(earlier.lora().rank, 0);
  EXPECT_EQ(earlier.lora().alpha, 8);
  EXPECT_EQ(earlier.max_seq_length(), DataOptions().max_seq_length);
}

}  // namespace
}  // namespace berth
