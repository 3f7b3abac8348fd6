#include "entrypoint/job/job_results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/flags.h"
#include "storage/base/error.h"
#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

// Answers every question for a file with an error.
class SilentStorage final : public BorrowedStorage {
 public:
  using BorrowedStorage::BorrowedStorage;
  std::optional<Stat> stat(const Uri& uri) override {
    throw Error(Code::kUnavailable, "no answer", uri.to_string());
  }
};

class JobResultsTest : public testing::Test {
 protected:
  CommandLine line(std::vector<std::string> flags) const {
    std::vector<const char*> pointers = {"--train-data-file", "a.csv"};
    for (const std::string& flag : flags) pointers.push_back(flag.c_str());
    return parse_flags(pointers, {});
  }
  JobResults after(const CommandLine& command_line, Task task = kDefaultTask) {
    return training_results(command_line, *storage_, JobDirectory(command_line.settings.output),
                            task);
  }
  std::string next(std::vector<std::string> flags, Task task = kDefaultTask) {
    return after(line(std::move(flags)), task).next;
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
};

TEST_F(JobResultsTest, ATrainedClassifierPredictsNext) {
  const JobResults results = after(line({"--job-dir", "runs/a"}));
  EXPECT_EQ(results.model, "runs/a/model");
  EXPECT_EQ(results.next, "berth --mode predict --predict-data-file new.csv --job-dir runs/a");
  EXPECT_EQ(results.next_purpose, "predict the rows of a new file (labels are not needed)");
}

TEST_F(JobResultsTest, TheReportIsNamedWhereItIs) {
  const CommandLine command_line = line({"--job-dir", scratch_ / "a"});
  EXPECT_EQ(after(command_line).report, "");
  write_text(*storage_, Uri::parse(scratch_ / "a/report.html"), "<html/>");
  EXPECT_EQ(after(command_line).report, scratch_ / "a/report.html");
  SilentStorage silent(*storage_);
  EXPECT_EQ(training_results(command_line, silent, JobDirectory(command_line.settings.output),
                             kDefaultTask)
                .report,
            "");
}

TEST_F(JobResultsTest, TheModelMayLieElsewhere) {
  const JobResults results = after(line({"--job-dir", "runs/a", "--export-dir", "gs://b/m"}));
  EXPECT_EQ(results.model, "gs://b/m");
  EXPECT_EQ(results.next, "berth --mode predict --predict-data-file new.csv --job-dir runs/a");
}

TEST_F(JobResultsTest, EachTaskHasItsNextCommand) {
  EXPECT_EQ(next({"--job-dir", "a"}, Task::kTokenClassification),
            "berth --mode predict --predict-data-file new.conll --job-dir a");
  EXPECT_EQ(next({"--job-dir", "a"}, Task::kQuestionAnswering),
            "berth --mode predict --predict-data-file new.json --job-dir a");
  EXPECT_EQ(next({"--job-dir", "a"}, Task::kSimilarity),
            "berth --mode embed --predict-data-file new.csv --job-dir a");
  EXPECT_EQ(next({"--job-dir", "runs/a/"}, Task::kMaskedLm),
            "berth --model runs/a/model --train-data-file labelled.csv --job-dir "
            "runs/a-fine-tuned");
  EXPECT_EQ(next({"--job-dir", "."}, Task::kMaskedLm),
            "berth --model ./model --train-data-file labelled.csv --job-dir fine-tuned");
}

TEST_F(JobResultsTest, TheNextCommandReachesTheSameStorage) {
  EXPECT_EQ(next({"--job-dir", "gs://b/a", "--anonymous", "--storage-endpoint", "http://h:1"}),
            "berth --mode predict --predict-data-file new.csv --job-dir gs://b/a --anonymous "
            "--storage-endpoint http://h:1");
  EXPECT_EQ(next({"--job-dir", "gs://b/a", "--no-parallel-uploads"}),
            "berth --mode predict --predict-data-file new.csv --job-dir gs://b/a "
            "--no-parallel-uploads");
}

TEST_F(JobResultsTest, TheNextCommandIsQuotedForAShell) {
  CommandLine command_line = line({"--job-dir", "my runs/it's $1"});
  command_line.program = "/opt/my tools/berth";
  EXPECT_EQ(after(command_line).next,
            "'/opt/my tools/berth' --mode predict --predict-data-file new.csv --job-dir "
            "\"my runs/it's \\$1\"");
  EXPECT_EQ(next({"--job-dir=-a"}),
            "berth --mode predict --predict-data-file new.csv --job-dir=-a");
}

TEST_F(JobResultsTest, InAContainerTheNextCommandIsItsArguments) {
  CommandLine command_line = line({"--job-dir", "/out"});
  command_line.program = "";
  const JobResults results = after(command_line);
  EXPECT_EQ(results.next, "--mode predict --predict-data-file new.csv --job-dir /out");
  EXPECT_THAT(results.next_purpose,
              testing::EndsWith("run the same container with these arguments"));
}

TEST_F(JobResultsTest, PythonReadsWhatWasWritten) {
  const JobResults predicted = prediction_results(Uri::parse("a \"b\"/predictions.tsv"));
  EXPECT_EQ(predicted.predictions, "a \"b\"/predictions.tsv");
  EXPECT_EQ(predicted.read,
            R"(pandas.read_csv("a \"b\"/predictions.tsv", sep="\t", keep_default_na=False, )"
            R"(na_values=[""]))");
  using enum EmbeddingsFormat;
  EXPECT_EQ(embedding_results(Uri::parse("e.npy"), kNpy).read, R"(numpy.load("e.npy"))");
  EXPECT_EQ(embedding_results(Uri::parse("e.parquet"), kParquet).read,
            R"(pandas.read_parquet("e.parquet"))");
  EXPECT_EQ(embedding_results(Uri::parse("gs://b/e.jsonl"), kJsonl).read,
            R"(pandas.read_json("gs://b/e.jsonl", lines=True))");
}

}  // namespace
}  // namespace berth
