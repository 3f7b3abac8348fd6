// Ranks that share the optimizer write the checkpoints that ranks with whole optimizers write, and
// go on from either. Each rank is a thread here, with a model and a loop of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "storage/whole_file.h"
#include "tests/support/held_storage.h"
#include "tests/support/rank_threads.h"
#include "tests/support/throws_code.h"
#include "tests/trainer/loop/tiny_job.h"

namespace berth {
namespace {

class ShardedOptimizerTest : public testing::Test {
 protected:
  enum class Optimizer { kWhole, kSharded };

  ShardedOptimizerTest() {
    options_.optimization.max_grad_norm = 0;  // so that nothing is computed in another order
    options_.save_total_limit = 0;
  }

  // Runs the job in `scratch`. Returns what rank 0 has then: its values, and the moments of all.
  Learned run(int size, Optimizer optimizer, const ScratchDirectory& scratch,
              const std::function<void(TinyJob&, int)>& prepare = {}) {
    Learned learned;
    run_ranks(size, [&](Communicator& ranks) {
      TrainingOptions options = options_;
      options.place = {.rank = ranks.rank(), .size = size};
      options.keeps_weights = ranks.rank() == 0;
      options.shard_optimizer = optimizer == Optimizer::kSharded;
      TinyJob job(options, scratch / (ranks.rank() == 0 ? "job" : "unused"), *storage_,
                  /*evaluates=*/false, Saving::kBesideTraining, &ranks);
      if (prepare) prepare(job, ranks.rank());
      job.run();
      if (ranks.rank() == 0) learned = job.tiny.learned();
      any_rank(ranks, false);  // rank 0 has read
    });
    return learned;
  }

  // As run(), but every rank is stopped after `step`.
  void run_until(int64_t step, int size, Optimizer optimizer, const ScratchDirectory& scratch) {
    EXPECT_THAT(
        [&] {
          run(size, optimizer, scratch, [step](TinyJob& job, int) {
            job.observer.when_step = [&job, step](int64_t done) { job.stop = done == step; };
          });
        },
        ThrowsCode(Code::kStopped));
  }

  // What one process finds in the checkpoints of `scratch`.
  Learned saved(const ScratchDirectory& scratch) {
    TinyModel tiny;
    CheckpointStore checkpoints(*storage_, Uri::parse(scratch / "job"), 0);
    EXPECT_TRUE(checkpoints.restore(*tiny.engine).has_value());
    return tiny.learned();
  }
  // What `size` ranks restore from them.
  Learned restored(int size, Optimizer optimizer, const ScratchDirectory& scratch) {
    Learned learned;
    run_ranks(size, [&](Communicator& ranks) {
      TrainingOptions options;
      options.shard_optimizer = optimizer == Optimizer::kSharded;
      TinyModel tiny(/*seed=*/2, tiny_config(), 1, {}, &ranks, options);
      CheckpointStore checkpoints(*storage_, Uri::parse(scratch / "job"), 0,
                                  Saving::kBesideTraining, UINT64_MAX, &ranks);
      EXPECT_TRUE(checkpoints.restore(*tiny.engine).has_value());
      if (ranks.rank() == 0) learned = tiny.learned();
      any_rank(ranks, false);
    });
    return learned;
  }

  // The tensors of all checkpoints, by their paths in `scratch`.
  std::map<std::string, std::vector<std::byte>> files(const ScratchDirectory& scratch) {
    std::map<std::string, std::vector<std::byte>> found;
    const std::filesystem::path root = scratch / "job";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".safetensors") continue;
      const WholeFile file(*storage_, Uri::parse(entry.path().string()));
      found[entry.path().lexically_relative(root)] = {file.bytes().begin(), file.bytes().end()};
    }
    return found;
  }

  TrainingOptions options_ = tiny_options();
  const std::unique_ptr<Storage> local_ = make_local_storage();
  Storage* storage_ = local_.get();
};

TEST_F(ShardedOptimizerTest, SavesTheSameFiles) {
  options_.save_steps = 2;  // each save is written beside the updates that follow
  const ScratchDirectory whole, sharded;
  const Learned expected = run(3, Optimizer::kWhole, whole);
  EXPECT_TRUE(run(3, Optimizer::kSharded, sharded) == expected);
  const auto expected_files = files(whole);
  EXPECT_EQ(expected_files.size(), 2u * 6);
  EXPECT_TRUE(files(sharded) == expected_files);
}

// The moments of a save that storage holds back are copied before the ranks change them.
TEST_F(ShardedOptimizerTest, SavesOneMomentWhereStorageIsSlow) {
  options_.save_steps = 2;
  options_.save_patience_s = 0;
  options_.max_steps = 6;
  const ScratchDirectory quick, slow;
  run(2, Optimizer::kSharded, quick);
  HeldStorage held(*local_, "step-00000002/model.safetensors");
  storage_ = &held;
  run(2, Optimizer::kSharded, slow, [&](TinyJob& job, int rank) {
    if (rank != 0) return;
    job.observer.when_step = [&held](int64_t step) {
      if (step == 5) held.release();
    };
  });
  const std::string file = "step-00000002/optimizer.safetensors";
  EXPECT_TRUE(files(slow).at(file) == files(quick).at(file));
}

TEST_F(ShardedOptimizerTest, ResumesToTheBit) {
  const ScratchDirectory whole, parts;
  const Learned expected = run(2, Optimizer::kSharded, whole);
  run_until(5, 2, Optimizer::kSharded, parts);
  EXPECT_TRUE(run(2, Optimizer::kSharded, parts) == expected);
}

TEST_F(ShardedOptimizerTest, AnyNumberOfRanksGoesOnWithTheSameState) {
  const ScratchDirectory scratch;
  run_until(3, 2, Optimizer::kSharded, scratch);
  const Learned after_3 = saved(scratch);
  EXPECT_THAT(after_3.second_moment, testing::Contains(testing::Gt(0.0f)));
  EXPECT_TRUE(restored(2, Optimizer::kSharded, scratch) == after_3);
  EXPECT_TRUE(restored(3, Optimizer::kWhole, scratch) == after_3);
  run_until(6, 3, Optimizer::kWhole, scratch);
  const Learned after_6 = saved(scratch);
  EXPECT_FALSE(after_6 == after_3);
  EXPECT_TRUE(restored(1, Optimizer::kSharded, scratch) == after_6);
  EXPECT_TRUE(restored(4, Optimizer::kSharded, scratch) == after_6);
  run_until(9, 1, Optimizer::kSharded, scratch);
  EXPECT_FALSE(saved(scratch) == after_6);
}

}  // namespace
}  // namespace berth
