#include "entrypoint/job/data_sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/archived_storage.h"
#include "storage/base/text.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/tar_bytes.h"
#include "tests/support/throws_code.h"
#include "trainer/loop/table_files.h"

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
    EXPECT_THAT(table_files(*storage, request.path, request.role),
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

}  // namespace
}  // namespace berth
