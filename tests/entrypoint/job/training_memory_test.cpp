#include "entrypoint/job/training_memory.h"

#include <gtest/gtest.h>

#include "storage/base/error.h"
#include "storage/verified_storage.h"
#include "tests/support/tiny_config.h"
#include "trainer/cpu/cpu_device.h"

namespace berth {
namespace {

class TrainingMemory : public testing::Test {
 protected:
  TrainingMemory() {
    settings_.data.max_seq_length = 16;
    settings_.training.batch_size = settings_.training.eval_batch_size = 1;
  }
  MemoryEstimate memory(const MemoryLimits& limits) {
    return training_memory(settings_, config_, data_, limits, *device_);
  }
  void require(size_t size_bytes) {
    require_training_memory(settings_, config_, data_, limit_of(size_bytes), *device_);
  }
  static MemoryLimits limit_of(size_t size_bytes) {
    return {.host = MemoryLimit{size_bytes, "the container's limit"}};
  }

  Settings settings_;
  ModelConfig config_ = tiny_config();
  DataMemory data_{.program = 1000, .tables = 100, .most_examples = 8};
  std::unique_ptr<Device> device_ = make_cpu_device(/*threads=*/1);
};

TEST_F(TrainingMemory, SavesBesideTrainingIfMemoryAllows) {
  const MemoryEstimate free = memory({});
  EXPECT_EQ(free.saves, Saving::kBesideTraining);
  EXPECT_EQ(free.program, 1000u);
  EXPECT_EQ(free.tables, 100u);
  EXPECT_EQ(memory(limit_of(free.on_host())).saves, Saving::kBesideTraining);
}

TEST_F(TrainingMemory, LetsTrainingWaitIfACopyWouldNotFit) {
  const MemoryEstimate free = memory({});
  const MemoryEstimate waits = memory(limit_of(free.on_host() - 1));
  EXPECT_EQ(waits.saves, Saving::kWhileTrainingWaits);
  EXPECT_EQ(waits.on_host() - waits.saving, free.on_host() - free.saving);
  EXPECT_LT(waits.on_host(), free.on_host());
  require(free.on_host() - 1);
  require(waits.on_host());
  EXPECT_THROW(require(waits.on_host() - 1), Error);
}

TEST_F(TrainingMemory, AJobThatKeepsNoWeightsNeedsNoCopyOfThem) {
  const MemoryEstimate keeps = memory({});
  settings_.training.keeps_weights = false;
  EXPECT_LT(memory({}).saving, keeps.saving);
}

TEST_F(TrainingMemory, SlowStorageMayUseWhatTheLimitLeaves) {
  const MemoryEstimate free = memory({});
  const MemoryEstimate spare = memory(limit_of(free.on_host() + 1000));
  EXPECT_EQ(free.most_copied, UINT64_MAX);
  EXPECT_EQ(spare.on_host(), free.on_host());
  EXPECT_EQ(spare.most_copied, memory(limit_of(free.on_host())).most_copied + 1000);
}

TEST_F(TrainingMemory, AnUploadHoldsPartsOfAFile) {
  const MemoryEstimate local = memory({});
  settings_.output.job_dir = "gs://bucket/job";
  EXPECT_EQ(memory({}).on_host(), local.on_host() + TransferOptions().upload_bytes());
}

TEST_F(TrainingMemory, AProbeTakesMemoryBesideTheTraining) {
  const MemoryEstimate alone = memory({});
  data_.probe = size_t{1} << 20;
  const MemoryEstimate probed = memory({});
  EXPECT_EQ(probed.probe, data_.probe);
  EXPECT_GT(probed.saving, alone.saving) << "the encoder may be exported while a copy is saved";
  EXPECT_EQ(probed.on_host() - probed.saving, alone.on_host() - alone.saving + data_.probe);
  EXPECT_THROW(require(alone.on_host()), Error);
  require(probed.on_host());
}

TEST_F(TrainingMemory, TextsAreEmbeddedInPartsWhereAllDoNotFit) {
  config_.task = Task::kInBatchNegatives;
  config_.texts_per_row = 2;
  settings_.training.batch_size = settings_.training.eval_batch_size = 256;
  data_.most_examples = 256;
  const auto need_of = [&](int64_t rows) {
    settings_.training.embedding_mini_batch_size = rows;
    const MemoryEstimate beside = memory({});
    return memory(limit_of(beside.on_host() - 1)).on_host();  // training waits for its saves
  };
  const size_t all = need_of(0), parts = need_of(32), small = need_of(8);
  EXPECT_GT(all, parts);
  EXPECT_GT(parts, small);
  settings_.training.embedding_mini_batch_size.reset();
  const auto chosen = [&](size_t size_bytes) {
    return fitting_mini_batch(settings_, config_, data_, limit_of(size_bytes), *device_);
  };
  EXPECT_EQ(fitting_mini_batch(settings_, config_, data_, {}, *device_), 0);
  EXPECT_EQ(chosen(all), 0);
  EXPECT_EQ(chosen(all - 1), 32);
  EXPECT_EQ(chosen(parts), 32);
  EXPECT_EQ(chosen(parts - 1), 16);
  EXPECT_EQ(chosen(small), 8);
  EXPECT_EQ(chosen(1), 1) << "which is then refused";
  // The refusal of a batch that the user wants at once.
  for (const int64_t rows : {0, 8}) {
    settings_.training.embedding_mini_batch_size = rows;
    try {
      require(small - 1);
      FAIL() << "fits";
    } catch (const Error& error) {
      const std::string text = error.what();
      EXPECT_EQ(text.find("--gradient-accumulation-steps"), text.npos) << text;
      EXPECT_EQ(text.find("--embedding-mini-batch-size auto") != text.npos, rows == 0) << text;
    }
  }
}

// Vectors of tokens are kept for all rows, and in fp32 in the batches that were packed.
TEST_F(TrainingMemory, ATeachersOutputsCount) {
  const MemoryEstimate alone = memory({});
  EXPECT_EQ(alone.teacher, 0u);
  data_.teacher = size_t{1} << 20;
  const MemoryEstimate of_texts = memory({});
  EXPECT_EQ(of_texts.teacher, data_.teacher);
  EXPECT_EQ(of_texts.on_host(), alone.on_host() + data_.teacher);
  config_.task = Task::kHiddenStateDistillation;
  config_.vector_size = 100;
  const size_t packed = memory({}).teacher - data_.teacher;
  EXPECT_GE(packed, 6 * 16 * 100 * sizeof(float));
  settings_.training.batch_size = 2;
  EXPECT_GT(memory({}).teacher - data_.teacher, packed);
  settings_.distillation = {.teacher = "t", .target = DistillationTarget::kHiddenStates};
  try {
    require(data_.teacher);
    FAIL() << "fits";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("--distillation-target embedding"), std::string::npos);
  }
}

}  // namespace
}  // namespace berth
