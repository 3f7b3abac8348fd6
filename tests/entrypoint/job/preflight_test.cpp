#include "entrypoint/job/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>

#include "storage/archived_storage.h"
#include "storage/local_storage.h"
#include "tests/support/borrowed_storage.h"
#include "tests/support/bucket_of_files.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Refuses to write below `refused`. With `meeting`, every create() waits until others arrive.
class GuardedStorage final : public BorrowedStorage {
 public:
  using BorrowedStorage::BorrowedStorage;

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions& options) override {
    EXPECT_EQ(options.if_generation, Generation{0});
    if (meeting != nullptr) meeting->arrive_and_wait();
    if (!refused.empty() && uri.to_string().find(refused) != std::string::npos) {
      throw Error(Code::kNotPermitted, "storage.objects.create is missing", uri.to_string());
    }
    return BorrowedStorage::create(uri, options);
  }

  std::string refused;
  std::barrier<>* meeting = nullptr;
};

class PreflightTest : public testing::Test {
 protected:
  PreflightTest() {
    put("data/train.csv");
    put("data/eval.csv");
    put("model/config.json");
    put("model/vocab.txt");
    put("model/model.safetensors");
    fs::create_directories(scratch_ / "b/job");
    settings_.data.train_data_file = "gs://b/data/train.csv";
    settings_.model.model = "gs://b/model";
    settings_.output.job_dir = "gs://b/job";
  }
  void put(const std::string& name) {
    const fs::path path(scratch_ / ("b/" + name));
    fs::create_directories(path.parent_path());
    write_text(path, name);
  }
  void check() { preflight(storage_, settings_); }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> files_ = make_local_storage();
  BucketOfFiles bucket_{*files_, scratch_.path().string()};
  GuardedStorage storage_{bucket_};
  Settings settings_;
};

TEST_F(PreflightTest, AValidJobPassesAndNothingIsRead) {
  settings_.data.eval_data_file = "gs://b/data/*.csv";
  settings_.model.vocab_file = "gs://b/model/vocab.txt";
  settings_.output.export_dir = "gs://b/export";
  EXPECT_NO_THROW(check());
  EXPECT_EQ(bucket_.opens, 0);
  EXPECT_EQ(bucket_.creates, 2);
}

TEST_F(PreflightTest, LeavesNothingBehind) {
  check();
  EXPECT_TRUE(fs::is_empty(scratch_ / "b/job"));
}

TEST_F(PreflightTest, AMissingInputIsNamedWithItsFlag) {
  settings_.data.train_data_file = "gs://b/data/trian.csv";
  EXPECT_THAT([&] { check(); },
              ThrowsCode(Code::kNotFound,
                         "--train-data-file gs://b/data/trian.csv: no such file or directory; did "
                         "you mean gs://b/data/train.csv?"));
}

TEST_F(PreflightTest, EveryInputIsLookedFor) {
  const auto complaint = [&](std::string& path, const std::string& flag) {
    const std::string before = std::exchange(path, "gs://b/elsewhere/nothing");
    EXPECT_THAT([&] { check(); }, ThrowsCode(Code::kNotFound, flag)) << flag;
    path = before;
  };
  complaint(settings_.data.train_data_file, "--train-data-file gs://b/elsewhere");
  complaint(settings_.data.eval_data_file, "--eval-data-file gs://b/elsewhere");
  complaint(settings_.model.model, "--model gs://b/elsewhere");
  complaint(settings_.model.model_config, "--model-config gs://b/elsewhere");
  complaint(settings_.model.vocab_file, "--vocab-file gs://b/elsewhere");
  settings_.mode = Mode::kPredict;
  complaint(settings_.data.predict_data_file, "--predict-data-file gs://b/elsewhere");
}

TEST_F(PreflightTest, EveryPlaceToWriteToIsTried) {
  const auto complaint = [&](std::string& path, const std::string& flag) {
    path = "gs://b/locked";
    storage_.refused = path;
    EXPECT_THAT([&] { check(); }, ThrowsCode(Code::kNotPermitted, flag)) << flag;
    path = "gs://b/job";
  };
  complaint(settings_.output.summary_dir, "--summary-dir gs://b/locked");
  complaint(settings_.output.checkpoint_dir, "--checkpoint-dir gs://b/locked");
  complaint(settings_.output.export_dir, "--export-dir gs://b/locked");
  complaint(settings_.output.job_dir, "--job-dir gs://b/locked");
}

TEST_F(PreflightTest, AFileInThePlaceOfADirectoryIsRefused) {
  const std::string file = scratch_ / "b/data/train.csv";
  const std::string problem = ": this is a file, and a directory is needed here";
  for (const std::string& place : {file, file + "/below"}) {
    settings_.output.export_dir = place;
    EXPECT_THAT([&] { check(); }, ThrowsCode(Code::kNotFound, "--export-dir " + file + problem));
  }
  settings_.output.export_dir.clear();
  put("local/model");
  settings_.output.job_dir = scratch_ / "b/local";
  EXPECT_THAT([&] { check(); },
              ThrowsCode(Code::kNotFound, "--job-dir " + (scratch_ / "b/local/model") + problem));
  settings_.output.export_dir = scratch_ / "b/elsewhere";
  EXPECT_NO_THROW(check());
}

TEST_F(PreflightTest, TheFirstBadFlagIsReported) {
  settings_.data.train_data_file = "gs://b/elsewhere/a";
  settings_.model.model = "gs://b/elsewhere/b";
  storage_.refused = "gs://b/job";
  EXPECT_THAT([&] { check(); }, ThrowsCode(Code::kNotFound, "--train-data-file"));
}

TEST_F(PreflightTest, InputsThatAModeDoesNotUseAreNotLookedFor) {
  settings_.data.predict_data_file = "gs://b/elsewhere";
  EXPECT_NO_THROW(check());
  settings_.data.eval_data_file = "gs://b/elsewhere";
  settings_.mode = Mode::kTrain;
  EXPECT_NO_THROW(check());
  settings_.data.eval_data_file = "gs://b/data/eval.csv";
  settings_.mode = Mode::kEval;
  storage_.refused = "gs://b/job";
  settings_.data.train_data_file = "gs://b/elsewhere";
  EXPECT_NO_THROW(check());
}

TEST_F(PreflightTest, AGivenFileThatATrainingDoesNotUseIsLookedFor) {
  CommandLine line{.settings = settings_, .highest_instruction_set = ""};
  const auto look = [&] { preflight_unused(storage_, line); };
  line.settings.mode = Mode::kTrain;
  line.settings.data.eval_data_file = "gs://b/elsewhere";
  EXPECT_NO_THROW(look());  // no flag names it
  line.given = {"eval-data-file"};
  EXPECT_THAT(look, ThrowsCode(Code::kNotFound, "--eval-data-file gs://b/elsewhere"));
  line.settings.mode = Mode::kTrainAndEval;  // preflight() looks for it
  EXPECT_NO_THROW(look());
}

TEST_F(PreflightTest, RemotePlacesAreAskedAtTheSameTime) {
  std::barrier<> both(2);
  storage_.meeting = &both;  // each write waits for the other
  settings_.output.export_dir = "gs://b/export";
  EXPECT_NO_THROW(check());
}

TEST_F(PreflightTest, ArchivesAreNotFetched) {
  put("data.tar.gz");
  put("model.zip");
  const auto archived =
      make_archived_storage(std::make_unique<BorrowedStorage>(static_cast<Storage&>(storage_)));
  settings_.data.train_data_file = "gs://b/data.tar.gz";
  settings_.data.eval_data_file = "gs://b/data.tar.gz/eval/*.csv";
  settings_.model.model = "gs://b/model.zip";
  EXPECT_NO_THROW(preflight(*archived, settings_));
  EXPECT_EQ(bucket_.opens, 0);
  settings_.model.model = "gs://b/modle.zip";
  EXPECT_THAT([&] { preflight(*archived, settings_); },
              ThrowsCode(Code::kNotFound, "--model gs://b/modle.zip: no such file"));
}

TEST_F(PreflightTest, LocalPlacesAreCheckedToo) {
  settings_.data.train_data_file = scratch_ / "b/data";
  settings_.model.model = scratch_ / "b/model";
  settings_.output.job_dir = scratch_ / "new/job";
  EXPECT_NO_THROW(preflight(*files_, settings_));
  EXPECT_FALSE(fs::exists(scratch_ / "new"));
  settings_.output.job_dir = scratch_ / "b/data/train.csv/job";
  EXPECT_THAT([&] { preflight(*files_, settings_); }, ThrowsCode(Code::kNotFound, "--job-dir"));
}

}  // namespace
}  // namespace berth
