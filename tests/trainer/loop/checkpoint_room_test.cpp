#include "trainer/loop/checkpoint_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/captured_log.h"
#include "tests/support/full_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_job.h"
#include "trainer/loop/checkpoint_files.h"
#include "trainer/loop/checkpoint_folder.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// Checkpoints of 1 MiB in a disk of a given size. `is_certain`: the disk tells what is free.
class CheckpointRoomTest : public testing::TestWithParam<bool> {
 protected:
  void add(int64_t step, const std::string& directory = "job", bool is_complete = true) {
    const fs::path folder = step_directory(Uri::parse(scratch_ / directory), step).path();
    fs::create_directories(folder);
    write_text(folder / kParametersFile, std::string(kMiB, 'x'));
    for (const char* name : {kMomentsFile, kStateFile}) write_text(folder / name, "");
    if (is_complete) write_text(folder / kManifestFile, "");
  }

  std::vector<int64_t> steps(const std::string& directory = "job") {
    std::vector<int64_t> steps;
    for (const auto& [step, found] : find_checkpoints(*local_, Uri::parse(scratch_ / directory))) {
      steps.push_back(step);
    }
    return steps;
  }

  void record_best(int64_t step) {
    write_text(scratch_ / "job/best.json", to_json(Best{.step = step, .metric = "loss"}));
  }

  // Writes a model of that many MiB while the job stands at `step`.
  void write_model(double disk_mib, double model_mib, int64_t step = 100) {
    FullStorage disk(*local_, scratch_.path(), static_cast<uint64_t>(disk_mib * kMiB));
    options_.directory = Uri::parse(scratch_ / "job");
    if (!options_.volume) {
      options_.volume = [&](const Uri&) { return disk.volume(/*is_certain=*/GetParam()); };
    }
    const auto size = static_cast<uint64_t>(model_mib * kMiB);
    CheckpointRoom(disk, options_).write(Uri::parse(scratch_ / "model"), size, step, [&] {
      const auto sink = disk.create(Uri::parse(scratch_ / "model/file"), {});
      sink->write(as_bytes(std::string(size, 'm')));
      sink->close();
    });
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> local_ = make_local_storage();
  RoomOptions options_{.small_files_bytes = 0, .volume = nullptr};
  const CapturedLog log_;
};

INSTANTIATE_TEST_SUITE_P(Volumes, CheckpointRoomTest, testing::Bool());

TEST_P(CheckpointRoomTest, NothingGoesWhereThereIsSpace) {
  for (const int64_t step : {10, 20, 30}) add(step);
  write_model(/*disk_mib=*/6, /*model_mib=*/1);
  EXPECT_THAT(steps(), ElementsAre(10, 20, 30));
  EXPECT_EQ(log_.lines(), "");
}

TEST_P(CheckpointRoomTest, TheOldestGoFirst) {
  for (const int64_t step : {10, 20, 30}) add(step);
  write_model(3.6, 0.9);
  EXPECT_THAT(steps(), ElementsAre(20, 30));
  EXPECT_THAT(log_.lines(), HasSubstr("step-00000010 is removed to make room for"));
}

TEST_P(CheckpointRoomTest, TheBestGoesLast) {
  for (const int64_t step : {10, 20, 30, 40}) add(step);
  record_best(20);
  write_model(4.2, 2.1);
  EXPECT_THAT(steps(), ElementsAre(20, 40));
}

TEST_P(CheckpointRoomTest, TheNewestStaysAlways) {
  for (const int64_t step : {10, 20, 30}) add(step);
  record_best(10);
  write_model(3.1, 2);
  EXPECT_THAT(steps(), ElementsAre(30));
}

TEST_P(CheckpointRoomTest, TheBestStaysInPlaceOfTheNewestWhereItBecomesTheModel) {
  for (const int64_t step : {10, 20, 30}) add(step);
  record_best(10);
  options_.needs_best = true;
  write_model(3.1, 2);
  EXPECT_THAT(steps(), ElementsAre(10));
}

TEST_P(CheckpointRoomTest, IncompleteOnesGoBeforeAllOthers) {
  add(10);
  add(20);
  add(15, "job", /*is_complete=*/false);
  write_model(3.5, 1.2);
  EXPECT_THAT(steps(), ElementsAre(10, 20));
}

// After a loss of power, a manifest may be there again without all of the files that it names.
TEST_P(CheckpointRoomTest, AHalfRemovedOneIsNeverTakenForComplete) {
  add(10);
  add(20);
  fs::remove(fs::path(scratch_ / "job/step-00000020") / kMomentsFile);
  write_model(2.5, 1.2);
  EXPECT_THAT(steps(), ElementsAre(10));
}

// A kill before the folder is empty leaves no checkpoint, and what it leaves is removed later.
TEST_P(CheckpointRoomTest, ARemovalThatIsInterruptedLeavesNoCheckpoint) {
  add(10);
  add(20);
  const Uri job = Uri::parse(scratch_ / "job");
  for (const char* name : {kManifestFile, kParametersFile}) {
    local_->remove(step_directory(job, 20) / name);
    EXPECT_FALSE(find_checkpoints(*local_, job).at(20).is_complete) << name;
  }
  const std::string left = (step_directory(job, 20) / ".optimizer.safetensors.abcdef.part").path();
  write_text(fs::path(left), "left by a killed save");
  remove_checkpoint(*local_, job, 20);
  EXPECT_FALSE(fs::exists(step_directory(job, 20).path()));
  EXPECT_THAT(steps(), ElementsAre(10));
}

// The step at hand is being saved, and later ones were passed over.
TEST_P(CheckpointRoomTest, WhatIsBeingWrittenAndLaterStepsStay) {
  add(10);
  add(20);
  add(30, "job", /*is_complete=*/false);
  add(40);
  write_model(4.5, 1.2, /*step=*/30);
  EXPECT_THAT(steps(), ElementsAre(20, 30, 40));
}

TEST_P(CheckpointRoomTest, FinishedSeedsGiveUpFirst) {
  for (const char* seed : {"seed-1", "seed-2"}) {
    add(10, seed);
    add(20, seed);
  }
  add(1);
  add(2);
  for (const char* seed : {"seed-1", "seed-2"}) {
    options_.finished.push_back(Uri::parse(scratch_ / seed));
  }
  write_model(6.5, 1.2);
  EXPECT_THAT(steps("seed-1"), ElementsAre(20));
  EXPECT_THAT(steps(), ElementsAre(1, 2));
}

TEST_P(CheckpointRoomTest, WhereAllAreKeptTheErrorSaysSo) {
  add(10);
  add(20);
  options_.gives_up = false;
  EXPECT_THAT([&] { write_model(2.5, 1); },
              ThrowsCode(Code::kNoSpace, "leave --save-total-limit 0 out"));
  EXPECT_THAT(steps(), ElementsAre(10, 20));
}

TEST_P(CheckpointRoomTest, NothingGoesForWhatLiesOnAnotherFileSystem) {
  add(10);
  add(20);
  options_.volume = [](const Uri& place) {
    const bool is_model = place.path().ends_with("model");
    return std::optional(Volume{.id = is_model ? 7u : 8u, .is_certain = GetParam()});
  };
  EXPECT_THAT([&] { write_model(2.5, 1); }, ThrowsCode(Code::kNoSpace, "the disk is full"));
  EXPECT_THAT(steps(), ElementsAre(10, 20));
}

TEST_P(CheckpointRoomTest, TheErrorNamesTheFlag) {
  add(10);
  add(20);
  EXPECT_THAT([&] { write_model(2.5, 3); },
              ThrowsCode(Code::kNoSpace, "--save-total-limit 1 keeps the fewest"));
  // A disk that tells what is free loses nothing for what could not fit anyway.
  EXPECT_EQ(steps().size(), GetParam() ? 2u : 1u);
}

// A job in a disk that holds two checkpoints and a little more.
TEST(FullDiskTest, AJobKeepsTheCheckpointThatItNeedsAndEndsWithTheSameBits) {
  TrainingOptions options = tiny_options();
  options.max_steps = 9;
  options.save_steps = 1;
  const auto local = make_local_storage();
  const ScratchDirectory whole, scratch;
  TinyJob(options, whole / "job", *local).run();
  uint64_t checkpoint_bytes = 0;
  for (const auto& [step, found] : find_checkpoints(*local, Uri::parse(whole / "job"))) {
    checkpoint_bytes = std::max(checkpoint_bytes, found.size_bytes);
  }
  const CapturedLog log;
  FullStorage disk(*local, scratch.path(), 2 * checkpoint_bytes + 8192);
  TinyJob(options, scratch / "job", disk).run();
  EXPECT_EQ(read_text(scratch / "job/step-00000009/model.safetensors"),
            read_text(whole / "job/step-00000009/model.safetensors"));
  EXPECT_THAT(log.lines(), HasSubstr("to make room for"));
  EXPECT_THAT(log.lines(), testing::Not(HasSubstr("was not saved")));
}

}  // namespace
}  // namespace berth
