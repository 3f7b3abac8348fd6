#include "trainer/loop/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/local_storage.h"
#include "storage/whole_file.h"
#include "tests/support/captured_log.h"
#include "tests/support/every_damage.h"
#include "tests/support/full_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_job.h"

namespace berth {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;

const TrainingState kState{
    .step = 12,
    .cursor = {.epoch = 1, .block = 2, .index = 3},
    .examples = 96,
    .tokens = 4001,
    .loss_sum = 0.1 + 0.2,
    .loss_weight = 95.5,
    .evaluated_step = 10,
    .best = Best{.step = 5, .metric = "accuracy", .value = 2.0 / 3, .improved_step = 3},
    .kernels = "cpu-fp32-avx2, 2 threads",
    .job = "0badf00d"};
const std::vector<ManifestEntry> kEntries = {
    {.name = "model.safetensors", .checksum = {.size = 5'000'000'000, .crc = 0xdeadbeef}},
    {.name = "state.json", .checksum = {.size = 0, .crc = 7}}};

void read_state(Bytes bytes) { parse_training_state(as_text(bytes)); }
void read_manifest(Bytes bytes) { parse_manifest(as_text(bytes)); }

TEST(StateJson, SurvivesWritingAndReading) {
  const TrainingState state = parse_training_state(to_json(kState));
  EXPECT_EQ(state.step, 12);
  EXPECT_EQ(state.cursor, kState.cursor);
  EXPECT_EQ(state.examples, 96);
  EXPECT_EQ(state.tokens, 4001);
  EXPECT_EQ(state.loss_sum, 0.1 + 0.2);  // to the bit, because a resumed run adds to this sum
  EXPECT_EQ(state.loss_weight, 95.5);
  EXPECT_EQ(state.evaluated_step, 10);
  ASSERT_TRUE(state.best);
  EXPECT_EQ(state.best->step, 5);
  EXPECT_EQ(state.best->metric, "accuracy");
  EXPECT_EQ(state.best->value, 2.0 / 3);
  EXPECT_EQ(state.best->improved_step, 3);
  EXPECT_EQ(state.kernels, kState.kernels);
  EXPECT_EQ(state.job, "0badf00d");
}

TEST(StateJson, KeepsWhatWasSkipped) {
  TrainingState state = kState;
  state.skipped = {{.from = {.index = 8}, .to = {.index = 12}},
                   {.from = {.epoch = 1, .block = 2}, .to = {.epoch = 2}}};
  EXPECT_EQ(parse_training_state(to_json(state)).skipped, state.skipped);
  EXPECT_EQ(to_json(kState).find("skipped"), std::string::npos);
}

TEST(StateJson, MayHaveNoBest) {
  EXPECT_EQ(parse_training_state(to_json(TrainingState{.step = 1})).best, std::nullopt);
}

TEST(StateJson, TruncatedIsCorrupt) {
  const std::string json = to_json(kState);
  // Of all prefixes, only the one without the final newline is accepted.
  EXPECT_THAT(accepted_prefixes(as_bytes(json), read_state), Each(Ge(json.size() - 1)));
}

TEST(StateJson, AFlippedBitIsAnErrorOrAnotherState) {
  const std::string json = to_json(kState);
  accepted_flips(as_bytes(json), read_state);
}

TEST(StateJson, OfANewerFormatIsIncompatible) {
  std::string json = to_json(TrainingState{.step = 1});
  const size_t place = json.find("\"format\": 1");
  ASSERT_NE(place, std::string::npos);
  json.replace(place, 11, "\"format\": 2");
  EXPECT_THAT([&] { parse_training_state(json); },
              ThrowsCode(Code::kIncompatible, "newer version of berth"));
}

TEST(StateJson, OtherJsonIsCorrupt) {
  for (const char* json : {"", "[]", "{}", "null", "{\"step\": \"x\"}", "{\"step\": 1}"}) {
    EXPECT_THAT([&] { parse_training_state(json); }, ThrowsCode(Code::kCorrupt)) << json;
  }
}

TEST(ManifestJson, SurvivesWritingAndReading) {
  const std::vector<ManifestEntry> entries = parse_manifest(manifest_json(kEntries));
  ASSERT_EQ(entries.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(entries[i].name, kEntries[i].name);
    EXPECT_EQ(entries[i].checksum, kEntries[i].checksum);
  }
}

TEST(ManifestJson, SpellsTheCrcInHexadecimal) {
  EXPECT_THAT(manifest_json(kEntries), testing::HasSubstr("\"crc32c\": \"deadbeef\""));
  EXPECT_THAT(manifest_json(kEntries), testing::HasSubstr("\"crc32c\": \"00000007\""));
}

TEST(ManifestJson, TruncatedIsCorrupt) {
  const std::string json = manifest_json(kEntries);
  EXPECT_THAT(accepted_prefixes(as_bytes(json), read_manifest), Each(Ge(json.size() - 1)));
}

TEST(ManifestJson, AFlippedBitIsAnErrorOrAnotherManifest) {
  const std::string json = manifest_json(kEntries);
  accepted_flips(as_bytes(json), read_manifest);
}

TEST(ManifestJson, OtherJsonIsCorrupt) {
  for (const char* json :
       {"", "[]", "{}", "null", R"({"files": 1})", R"({"files": [1]})", R"({"files": [{}]})",
        R"({"files": [{"name": "a", "size": 1, "crc32c": "0000000g"}]})",
        R"({"files": [{"name": "a", "size": 1, "crc32c": 7}]})",
        R"({"files": [{"name": "a", "size": "1", "crc32c": "00000000"}]})"}) {
    EXPECT_THAT([&] { parse_manifest(json); }, ThrowsCode(Code::kCorrupt)) << json;
  }
}

namespace fs = std::filesystem;

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
