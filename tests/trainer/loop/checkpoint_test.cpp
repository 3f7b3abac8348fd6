#include "trainer/loop/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "storage/local_storage.h"
#include "tests/support/captured_log.h"
#include "tests/support/failing_storage.h"
#include "tests/support/held_storage.h"
#include "tests/support/lossy_storage.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_model.h"
#include "trainer/loop/checkpoint_folder.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

class CheckpointTest : public testing::Test {
 protected:
  CheckpointStore store(int64_t limit = 0) { return store_in(*storage_, limit); }
  CheckpointStore store_in(Storage& storage, int64_t limit = 0) {
    return CheckpointStore(storage, Uri::parse(scratch_ / "checkpoints"), limit);
  }

  // Saves a random model whose seed is `step`, as if it had made `step` updates.
  Learned save(int64_t step, int64_t limit = 0, std::optional<Best> best = {}) {
    CheckpointStore checkpoints = store(limit);
    return save_to(checkpoints, step, std::move(best));
  }
  Learned save_to(CheckpointStore& checkpoints, int64_t step, std::optional<Best> best = {}) {
    TinyModel tiny(static_cast<uint64_t>(step));
    for (const auto which : {StateTensors::kFirstMoments, StateTensors::kSecondMoments}) {
      tiny.set_all(which, static_cast<float>(step) / 3);
    }
    finish(checkpoints, {.step = step, .best = std::move(best)}, tiny);
    return tiny.learned();
  }
  CheckpointReport finish(CheckpointStore& checkpoints, const TrainingState& state,
                          TinyModel& tiny) {
    checkpoints.start_save(state, *tiny.engine);
    const SaveOutcome outcome = checkpoints.wait().value();
    if (outcome.failure) std::rethrow_exception(outcome.failure);
    return outcome.report;
  }
  std::optional<TrainingState> restore() { return store().restore(*tiny_.engine); }

  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(scratch_ / "checkpoints")) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  fs::path file(const std::string& step, const std::string& name) const {
    return scratch_ / ("checkpoints/" + step + "/" + name);
  }

  ScratchDirectory scratch_;
  std::unique_ptr<Storage> storage_ = make_local_storage();
  TinyModel tiny_{100};
};

TEST_F(CheckpointTest, AnEmptyDirectoryIsNoError) { EXPECT_EQ(restore(), std::nullopt); }

TEST_F(CheckpointTest, TheBestIsPreferredToTheNewest) {
  EXPECT_EQ(store().preferred_step(), std::nullopt);
  save(3, 0, Best{.step = 3, .metric = "accuracy", .value = 1});
  save(7);
  EXPECT_EQ(store().preferred_step(), 3);
  fs::remove(file("step-00000003", "MANIFEST.json"));
  EXPECT_EQ(store().preferred_step(), 7);
  fs::remove(file("step-00000007", "MANIFEST.json"));
  EXPECT_EQ(store().preferred_step(), std::nullopt);
  const CapturedLog log;
  EXPECT_EQ(restore(), std::nullopt);
}

TEST_F(CheckpointTest, RestoresEveryBit) {
  const Learned saved = save(7);
  ASSERT_NE(tiny_.learned(), saved);
  const auto state = restore();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->step, 7);
  EXPECT_EQ(tiny_.learned(), saved);
}

TEST_F(CheckpointTest, RestoresTheState) {
  const TrainingState state{.step = 12,
                            .cursor = {.epoch = 1, .block = 2, .index = 3},
                            .examples = 96,
                            .tokens = 4001,
                            .loss_sum = 0.1 + 0.2,
                            .evaluated_step = 10,
                            .best = Best{.step = 5, .metric = "accuracy", .value = 2.0 / 3},
                            .kernels = "cpu \"fp32\""};
  CheckpointStore checkpoints = store();
  finish(checkpoints, state, tiny_);
  EXPECT_EQ(to_json(restore().value()), to_json(state));
}

// A save during which training waits makes no copy. It must write the same files, for whole models
// and for adapters.
TEST_F(CheckpointTest, SavesThatTrainingWaitsForWriteTheSameFiles) {
  for (const LoraOptions& lora : {LoraOptions{}, LoraOptions{.rank = 2, .alpha = 8}}) {
    TinyModel tiny(5, tiny_config(), /*threads=*/2, lora);
    std::vector<std::string> files;
    for (const Saving saving : {Saving::kBesideTraining, Saving::kWhileTrainingWaits}) {
      CheckpointStore checkpoints(*storage_, Uri::parse(scratch_ / "checkpoints"), 0, saving);
      const CheckpointReport report = finish(checkpoints, {.step = 4}, tiny);
      EXPECT_GT(report.size_bytes, 0u);
      for (const char* name : {"model.safetensors", "optimizer.safetensors", "MANIFEST.json"}) {
        files.push_back(read_text(file("step-00000004", name)));
      }
    }
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(files[i], files[i + 3]) << i;
  }
}

TEST_F(CheckpointTest, ASaveThatTrainingWaitsForIsReportedAtOnce) {
  CheckpointStore checkpoints(*storage_, Uri::parse(scratch_ / "checkpoints"), 0,
                              Saving::kWhileTrainingWaits);
  checkpoints.start_save({.step = 1}, *tiny_.engine);
  const std::optional<SaveOutcome> saved = checkpoints.poll();
  ASSERT_TRUE(saved);
  EXPECT_FALSE(saved->failure);
  EXPECT_TRUE(fs::exists(file("step-00000001", "MANIFEST.json")));
}

TEST_F(CheckpointTest, TheNewestWins) {
  save(9);
  save(10);
  save(2);
  EXPECT_EQ(restore()->step, 10);
}

TEST_F(CheckpointTest, ReportsWhatItWrote) {
  CheckpointStore checkpoints = store();
  const CheckpointReport report = finish(checkpoints, {.step = 500}, tiny_);
  EXPECT_EQ(report.step, 500);
  EXPECT_THAT(report.where, testing::EndsWith("checkpoints/step-00000500"));
  uint64_t size = 0;
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    size += fs::file_size(file("step-00000500", name));
  }
  EXPECT_EQ(report.size_bytes, size);
}

TEST_F(CheckpointTest, TheManifestComesLast) {
  FailingStorage storage(*storage_);
  CheckpointStore checkpoints = store_in(storage);
  save_to(checkpoints, 1);
  EXPECT_THAT(storage.published(), ElementsAre("model.safetensors", "optimizer.safetensors",
                                               "state.json", "MANIFEST.json"));
}

TEST_F(CheckpointTest, ASaveThatWasKilledIsPassedOver) {
  const Learned older = save(1);
  for (int published = 0; published < 4; ++published) {
    FailingStorage storage(*storage_, published);
    CheckpointStore checkpoints = store_in(storage);
    EXPECT_THAT([&] { save_to(checkpoints, 2); }, ThrowsCode(Code::kUnavailable));
    CapturedLog log;
    EXPECT_EQ(restore()->step, 1) << published << " files written";
    EXPECT_EQ(tiny_.learned(), older);
    if (published > 0) {
      EXPECT_THAT(log.warnings(), HasSubstr("step-00000002"));
    }
  }
}

TEST_F(CheckpointTest, LeftoversOfAKilledSaveAreReplaced) {
  save(1);
  fs::create_directories(scratch_ / "checkpoints/step-00000002");
  write_text(file("step-00000002", "model.safetensors"), "half a mod");
  write_text(file("step-00000002", "MANIFEST.json"), "{\"files\": [");
  const Learned saved = save(2);
  EXPECT_EQ(restore()->step, 2);
  EXPECT_EQ(tiny_.learned(), saved);
}

TEST_F(CheckpointTest, AHalfReplacedCheckpointIsNotComplete) {
  save(1);
  save(2);
  FailingStorage storage(*storage_, 1);  // stores the new model and fails on the new moments
  CheckpointStore checkpoints = store_in(storage);
  EXPECT_THAT([&] { save_to(checkpoints, 2); }, ThrowsCode(Code::kUnavailable));
  const CapturedLog log;
  EXPECT_EQ(restore()->step, 1);
}

// The ways in which a file may be damaged after it was written.
struct Damage {
  const char* name;
  std::function<void(const fs::path&)> inflict;
};
const Damage kDamages[] = {
    {"lost", [](const fs::path& path) { fs::remove(path); }},
    {"empty", [](const fs::path& path) { fs::resize_file(path, 0); }},
    {"truncated", [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) - 3); }},
    {"extended", [](const fs::path& path) { write_text(path, read_text(path) + "x"); }},
    {"flipped", [](const fs::path& path) {
       std::string text = read_text(path);
       text[text.size() / 2] ^= 0x10;
       write_text(path, text);
     }}};

TEST_F(CheckpointTest, ADamagedCheckpointIsPassedOverForTheOneBefore) {
  for (const char* name :
       {"model.safetensors", "optimizer.safetensors", "state.json", "MANIFEST.json"}) {
    for (const Damage& damage : kDamages) {
      const Learned older = save(4);
      save(8);
      damage.inflict(file("step-00000008", name));
      CapturedLog log;
      const auto state = restore();
      ASSERT_TRUE(state) << name << " " << damage.name;
      EXPECT_EQ(state->step, 4) << name << " " << damage.name;
      EXPECT_EQ(tiny_.learned(), older);
      EXPECT_THAT(log.warnings(), HasSubstr("step-00000008")) << name << " " << damage.name;
    }
  }
}

TEST_F(CheckpointTest, ARenamedCheckpointAndOneThatDoesNotFitArePassedOver) {
  const Learned right = save(4);
  save(8);
  const CapturedLog log;
  const auto fits = [](const TrainingState& state) { return state.step != 8; };
  EXPECT_EQ(store().restore(*tiny_.engine, fits).value().step, 4);
  EXPECT_THAT(log.warnings(), HasSubstr("its position is outside of the data"));
  fs::rename(scratch_ / "checkpoints/step-00000008", scratch_ / "checkpoints/step-00000070");
  EXPECT_EQ(restore().value().step, 4);
  EXPECT_EQ(tiny_.learned(), right);
  EXPECT_THAT(log.warnings(), HasSubstr("was renamed: it is the state after update 8"));
}

TEST_F(CheckpointTest, ADamagedCheckpointWithoutAnotherLeavesNoMoments) {
  save(4);
  kDamages[4].inflict(file("step-00000004", "optimizer.safetensors"));
  const CapturedLog log;
  EXPECT_EQ(restore(), std::nullopt);
  EXPECT_THAT(tiny_.learned().first_moment, testing::Each(0));
  EXPECT_THAT(tiny_.learned().second_moment, testing::Each(0));
}

// Cannot read files of some checkpoints, as where a disk has bad sectors.
class BadSectors final : public StorageLayer {
 public:
  BadSectors(Storage& inner, std::vector<std::string> steps)
      : StorageLayer(inner), steps_(std::move(steps)) {}
  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    for (const std::string& step : steps_) {
      if (uri.path().find(step + "/optimizer") != std::string::npos) {
        throw Error(Code::kUnavailable, "cannot read: Input/output error", uri.to_string());
      }
    }
    return inner().open(uri, options);
  }

 private:
  const std::vector<std::string> steps_;
};

TEST_F(CheckpointTest, OneThatCannotBeReadIsPassedOverForTheOneBefore) {
  const Learned older = save(4);
  save(8);
  const CapturedLog log;
  BadSectors one(*storage_, {"step-00000008"});
  EXPECT_EQ(store_in(one).restore(*tiny_.engine).value().step, 4);
  EXPECT_EQ(tiny_.learned(), older);
  EXPECT_THAT(log.warnings(), HasSubstr("Input/output error"));
  BadSectors both(*storage_, {"step-00000004", "step-00000008"});
  EXPECT_THAT([&] { store_in(both).restore(*tiny_.engine); },
              ThrowsCode(Code::kUnavailable, "step-00000008"));
}

// Maps no file, like a bucket, and records the most bytes that were asked for at once.
class Streams final : public StorageLayer {
 public:
  explicit Streams(Storage& inner) : StorageLayer(inner) {}
  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    return std::make_unique<Stream>(inner().open(uri, options), most_);
  }
  size_t most() const { return most_; }

 private:
  class Stream final : public ByteSource {
   public:
    Stream(std::unique_ptr<ByteSource> inner, size_t& most)
        : inner_(std::move(inner)), most_(most) {}
    size_t read(std::span<std::byte> buffer) override {
      most_ = std::max(most_, buffer.size());
      return inner_->read(buffer);
    }

   private:
    std::unique_ptr<ByteSource> inner_;
    size_t& most_;
  };

  size_t most_ = 0;
};

TEST_F(CheckpointTest, ARestoreFromABucketHasAPartOfAFileInMemory) {
  ModelConfig config = tiny_config();
  config.vocab_size = 400'000;  // 12 MiB of parameters
  TinyModel saved(1, config), restored(2, config);
  saved.set_all(StateTensors::kFirstMoments, 3);
  saved.set_all(StateTensors::kSecondMoments, 4);
  CheckpointStore checkpoints = store();
  finish(checkpoints, {.step = 5}, saved);
  Streams bucket(*storage_);
  EXPECT_EQ(store_in(bucket).restore(*restored.engine).value().step, 5);
  EXPECT_TRUE(restored.learned() == saved.learned());
  EXPECT_LE(bucket.most(), size_t{4} << 20);
}

TEST_F(CheckpointTest, TheNewestIntactModelTakesThePlaceOfADamagedBest) {
  const Learned best = save(2), intact = save(4);
  save(6);
  save(8);
  CheckpointStore checkpoints = store();
  const CapturedLog log;
  EXPECT_EQ(checkpoints.restore_best(2, /*newest=*/6, tiny_.values()), 2);
  EXPECT_EQ(tiny_.learned().parameters, best.parameters);
  EXPECT_EQ(log.warnings(), "");
  for (const char* step : {"step-00000002", "step-00000006"}) {
    kDamages[4].inflict(file(step, "model.safetensors"));
  }
  EXPECT_EQ(checkpoints.restore_best(2, /*newest=*/6, tiny_.values()), 4);
  EXPECT_EQ(tiny_.learned().parameters, intact.parameters);
  EXPECT_THAT(log.warnings(), HasSubstr("step-00000002: model.safetensors: its size or CRC-32C"));
  EXPECT_THAT(log.warnings(), HasSubstr("The model is step 4's, which is not the best one"));
  fs::remove(file("step-00000004", "model.safetensors"));
  EXPECT_THAT([&] { checkpoints.restore_best(2, /*newest=*/6, tiny_.values()); },
              ThrowsCode(Code::kCorrupt, "step-00000002"));
}

TEST_F(CheckpointTest, ManyIncompleteCheckpointsGiveFewWarnings) {
  save(4);
  for (int step = 10; step < 110; ++step) {
    fs::create_directories(scratch_ / ("checkpoints/step-" + std::to_string(step)));
    write_text(scratch_ / ("checkpoints/step-" + std::to_string(step) + "/model.safetensors"), "");
  }
  const CapturedLog log;
  EXPECT_EQ(restore().value().step, 4);
  const std::string warnings = log.warnings();
  EXPECT_LE(std::count(warnings.begin(), warnings.end(), '\n'), 4);
  EXPECT_THAT(warnings, HasSubstr("97 more incomplete checkpoints"));
}

TEST_F(CheckpointTest, ACheckpointOfAnotherModelIsIncompatible) {
  save(4);
  ModelConfig config = tiny_config();
  config.intermediate_size = 20;
  TinyModel other(1, config);
  const Learned before = other.learned();
  EXPECT_THAT([&] { store().restore(*other.engine); },
              ThrowsCode(Code::kIncompatible, "intermediate.dense"));
  EXPECT_EQ(other.learned(), before);
}

TEST_F(CheckpointTest, ForeignFilesAreLeftAlone) {
  save(4);
  fs::create_directories(scratch_ / "checkpoints/step-notes");
  write_text(scratch_ / "checkpoints/step-notes/a.txt", "mine");
  write_text(scratch_ / "checkpoints/step-99999999999999999999", "mine");
  EXPECT_EQ(restore()->step, 4);
}

TEST_F(CheckpointTest, TheLimitKeepsTheNewest) {
  for (const int64_t step : {1, 2, 3, 4, 5}) save(step, 2);
  EXPECT_THAT(entries(), ElementsAre("step-00000004", "step-00000005"));
}

TEST_F(CheckpointTest, TheLimitKeepsTheBestToo) {
  const Best best{.step = 2, .metric = "accuracy", .value = 1};
  for (const int64_t step : {1, 2, 3, 4, 5}) {
    save(step, 1, step >= 2 ? std::optional(best) : std::nullopt);
  }
  EXPECT_THAT(entries(), ElementsAre("best.json", "step-00000002", "step-00000005"));
}

TEST_F(CheckpointTest, WithoutALimitAllStay) {
  for (const int64_t step : {1, 2, 3}) save(step);
  EXPECT_THAT(entries(), ElementsAre("step-00000001", "step-00000002", "step-00000003"));
}

TEST_F(CheckpointTest, ASaveHoldsTheStateOfItsStart) {
  TinyModel tiny(3);
  tiny.set_all(StateTensors::kFirstMoments, 1);
  tiny.set_all(StateTensors::kSecondMoments, 1);
  const Learned before = tiny.learned();
  HeldStorage storage(*storage_, "model.safetensors");
  CheckpointStore checkpoints = store_in(storage);
  checkpoints.start_save({.step = 3}, *tiny.engine);
  const std::atomic<bool> stop = false;
  tiny.engine->start_update({}, {.learning_rate = 0.1f}, stop);
  EXPECT_NE(tiny.learned(), before);
  storage.release();
  EXPECT_FALSE(checkpoints.wait().value().failure);
  restore();
  EXPECT_EQ(tiny_.learned(), before);
}

// Row marks say which rows have no moments. They must not be trusted after moments were restored.
TEST_F(CheckpointTest, UpdatesUseTheRestoredMoments) {
  const auto update = [](TinyModel& tiny) {
    const std::atomic<bool> stop = false;
    tiny.engine->start_update({}, {.learning_rate = 0.1f}, stop);
    tiny.engine->collect_update();
  };
  save(3);
  TinyModel fresh(4);
  update(tiny_);  // has no gradients, so no row is marked as having moments
  for (TinyModel* tiny : {&tiny_, &fresh}) {
    store().restore(*tiny->engine);
    update(*tiny);
  }
  EXPECT_EQ(tiny_.learned(), fresh.learned());
}

TEST_F(CheckpointTest, TheEndOfASaveIsReportedOnce) {
  CheckpointStore checkpoints = store();
  EXPECT_FALSE(checkpoints.poll());
  EXPECT_FALSE(checkpoints.wait());
  checkpoints.start_save({.step = 3}, *tiny_.engine);
  EXPECT_EQ(checkpoints.wait().value().report.step, 3);
  EXPECT_FALSE(checkpoints.poll());
}

TEST_F(CheckpointTest, DestroyingTheStoreFinishesItsSave) {
  {
    CheckpointStore checkpoints = store();
    checkpoints.start_save({.step = 3}, *tiny_.engine);
  }
  EXPECT_EQ(restore()->step, 3);
}

TEST_F(CheckpointTest, AFailedSaveRemovesNoOlderCheckpoint) {
  save(1, 2);
  save(2, 2);
  {
    FailingStorage storage(*storage_, 2);
    CheckpointStore checkpoints = store_in(storage, 2);
    EXPECT_THAT([&] { save_to(checkpoints, 3); }, ThrowsCode(Code::kUnavailable));
  }
  EXPECT_THAT(entries(), ElementsAre("step-00000001", "step-00000002", "step-00000003"));
  save(4, 2);
  EXPECT_THAT(entries(), ElementsAre("step-00000002", "step-00000004"));
}

TEST_F(CheckpointTest, OnlyAStateWithAManifestIsReplaced) {
  save(3);
  CheckpointStore checkpoints = store();
  EXPECT_FALSE(checkpoints.save_state({.step = 4}));
  EXPECT_TRUE(checkpoints.save_state({.step = 3, .evaluated_step = 3}));
  EXPECT_EQ(restore().value().evaluated_step, 3);
}

// A replacement writes four objects. The second one begins where the first one failed.
TEST_F(CheckpointTest, AStateThatIsReplacedTwiceIsCompleteAtEveryMoment) {
  const CapturedLog log;
  for (int64_t step = 1; step <= 25; ++step) {
    const Learned saved = save(step);
    FailingStorage first(*storage_, static_cast<int>(step - 1) / 5);
    FailingStorage second(*storage_, static_cast<int>(step - 1) % 5);
    store_in(first).save_state({.step = step, .evaluated_step = 1});
    store_in(second).save_state({.step = step, .evaluated_step = 2});
    ASSERT_EQ(restore().value().step, step) << "the checkpoint is damaged";
    EXPECT_EQ(tiny_.learned(), saved);
  }
}

// The directory may be another job's, which a command named by mistake.
TEST_F(CheckpointTest, NothingIsRemovedBeforeTheStateIsAccepted) {
  {
    CheckpointStore checkpoints = store();
    finish(checkpoints, {.step = 3, .replaces = 2}, tiny_);
  }
  save(1);
  save(2);
  FailingStorage failing(*storage_, 2);
  store_in(failing).save_state({.step = 3, .evaluated_step = 3, .replaces = 2});
  ASSERT_TRUE(fs::exists(file("step-00000003", "state.next.json")));
  CheckpointStore checkpoints = store(/*limit=*/1);
  const TrainingState state = checkpoints.restore(*tiny_.engine).value();
  EXPECT_THAT(entries(), ElementsAre("step-00000001", "step-00000002", "step-00000003"));
  EXPECT_TRUE(fs::exists(file("step-00000003", "state.next.json")));
  checkpoints.finish_restore(state);
  EXPECT_THAT(entries(), ElementsAre("step-00000003"));
  EXPECT_FALSE(fs::exists(file("step-00000003", "state.next.json")));
}

TEST_F(CheckpointTest, ALostUploadIsWrittenAgain) {
  LossyStorage storage(*storage_, 2);
  CheckpointStore checkpoints = store_in(storage);
  const Learned saved = save_to(checkpoints, 5);
  EXPECT_EQ(restore()->step, 5);
  EXPECT_EQ(tiny_.learned(), saved);
}

TEST_F(CheckpointTest, TheBestIsNamedAfterItsCheckpointIsWritten) {
  const Best best{.step = 2, .metric = "accuracy", .value = 1};
  for (int published = 0; published < 5; ++published) {
    FailingStorage storage(*storage_, published);
    CheckpointStore checkpoints = store_in(storage);
    EXPECT_THAT([&] { save_to(checkpoints, 2, best); }, ThrowsCode(Code::kUnavailable));
    EXPECT_FALSE(fs::exists(scratch_ / "checkpoints/best.json"));
  }
  save(2, 0, best);
  EXPECT_EQ(read_text(scratch_ / "checkpoints/best.json"), to_json(best));
  fs::remove(scratch_ / "checkpoints/best.json");
  save(3, 0, best);
  EXPECT_FALSE(fs::exists(scratch_ / "checkpoints/best.json"));
}

TEST_F(CheckpointTest, TheBestIsWrittenAsReadableJson) {
  store().record_best({.step = 500, .metric = "accuracy", .value = 0.75, .improved_step = 500});
  EXPECT_EQ(read_text(scratch_ / "checkpoints/best.json"),
            "{\n  \"step\": 500,\n  \"metric\": \"accuracy\",\n  \"value\": 0.75\n}\n");
}

}  // namespace
}  // namespace berth
