#include "trainer/loop/memory_estimate.h"

#include <gtest/gtest.h>

#include "tests/support/tiny_config.h"
#include "trainer/cpu/cpu_device.h"

namespace berth {
namespace {

size_t fp32(int64_t elements) { return static_cast<size_t>(elements) * sizeof(float); }

class MemoryEstimateTest : public testing::Test {
 protected:
  MemoryEstimate estimate() {
    const EngineOptions options{.config = config_,
                                .lora = lora_,
                                .trains = trains_,
                                .limits = {.tokens = 64, .sequences = 4},
                                .longest = 16};
    if (!trains_) return estimate_memory(options, *device_);
    return estimate_memory(
        options,
        {.export_dtype = export_dtype_, .saves = saves_, .upload = upload_, .download = download_},
        *device_);
  }
  int64_t size(bool adapted) const {
    return total_elements(adapted ? parameter_table(config_, lora_) : parameter_table(config_));
  }
  size_t largest_parameter() const {
    size_t largest = 0;
    for (const ParameterSpec& spec : parameter_table(config_)) {
      largest = std::max(largest, fp32(spec.elements()));
    }
    return largest;
  }
  template <typename Which>
  int64_t size_of_those(const Which& which) const {
    int64_t elements = 0;
    for (const ParameterSpec& spec : parameter_table(config_, lora_)) {
      if (which(spec)) elements += spec.elements();
    }
    return elements;
  }

  ModelConfig config_ = tiny_config();
  LoraOptions lora_{};
  bool trains_ = true;
  DType export_dtype_ = DType::kF32;
  Saving saves_ = Saving::kBesideTraining;
  size_t upload_ = 0, download_ = 0;
  std::unique_ptr<Device> device_ = make_cpu_device(/*threads=*/2);
};

TEST_F(MemoryEstimateTest, AWholeModelTakesFiveTimesItsParametersAndTheActivations) {
  const MemoryEstimate memory = estimate();
  const size_t parameters = fp32(size(/*adapted=*/false));
  EXPECT_EQ(memory.engine.parameters, parameters);
  EXPECT_EQ(memory.engine.gradients, parameters);
  EXPECT_EQ(memory.engine.moments, 2 * parameters);
  EXPECT_EQ(memory.most_copied, parameters);
  EXPECT_EQ(memory.saving, parameters + largest_parameter());
  EXPECT_GT(memory.engine.scratch, 0u);
  EXPECT_EQ(memory.on_host() - memory.saving,
            4 * parameters + memory.engine.activations + memory.engine.scratch);
}

TEST_F(MemoryEstimateTest, AdaptersNeedFewGradientsButTheMergedModelIsCopied) {
  lora_ = {.rank = 2, .alpha = 8, .dropout = 0};
  const MemoryEstimate memory = estimate();
  const int64_t trained = size_of_those([](const ParameterSpec& spec) { return spec.trains; });
  EXPECT_LT(trained, size(true));
  EXPECT_EQ(memory.engine.gradients, fp32(trained));
  EXPECT_EQ(memory.engine.moments, 2 * fp32(trained));
  EXPECT_GT(memory.saving, fp32(size(false)));
}

TEST_F(MemoryEstimateTest, SavingWhileTrainingWaitsCopiesATensorAtATime) {
  const MemoryEstimate beside = estimate();
  saves_ = Saving::kWhileTrainingWaits;
  const size_t largest = largest_parameter();
  EXPECT_EQ(estimate().saving, largest);
  EXPECT_EQ(beside.on_host() - beside.saving, estimate().on_host() - largest);
  EXPECT_EQ(estimate().saves, saves_);
  export_dtype_ = DType::kF16;
  EXPECT_EQ(estimate().saving, 3 * largest);
  lora_ = {.rank = 1, .alpha = 8, .dropout = 0};
  EXPECT_EQ(estimate().saving, 3 * largest + fp32(size(false)));
}

TEST_F(MemoryEstimateTest, AResumeReadsAFileBeforeASaveWritesOne) {
  const size_t saving = estimate().saving, moments = 2 * fp32(size(/*adapted=*/false));
  ASSERT_GT(moments, saving + 9);
  upload_ = 9;
  EXPECT_EQ(estimate().saving, saving + 9);
  download_ = saving;
  EXPECT_EQ(estimate().saving, saving + 9);
  download_ = saving + 11;
  EXPECT_EQ(estimate().saving, saving + 11);
  download_ = 2 * moments;
  EXPECT_EQ(estimate().saving, moments);
}

TEST_F(MemoryEstimateTest, AnInferenceHasNeitherGradientsNorCopies) {
  const MemoryEstimate training = estimate();
  trains_ = false;
  const MemoryEstimate inference = estimate();
  EXPECT_EQ(inference.engine.parameters, training.engine.parameters);
  EXPECT_EQ(inference.engine.gradients + inference.engine.moments + inference.saving, 0u);
}

// Has memory of its own.
class FakeDevice final : public Device {
 public:
  const EngineInfo& info() const override { return info_; }
  EngineMemory memory_of(const EngineOptions&) override {
    return {.parameters = 1000, .loading = loading, .plugin = 10, .has_own_memory = true};
  }
  std::unique_ptr<Engine> make_engine(const EngineOptions&) override { return nullptr; }
  size_t loading = 7;

 private:
  EngineInfo info_;
};

TEST_F(MemoryEstimateTest, OfADeviceWithItsOwnMemoryIsTheHostsAndTheDevices) {
  device_ = std::make_unique<FakeDevice>();
  trains_ = false;
  const MemoryEstimate memory = estimate();
  EXPECT_EQ(memory.on_device(), 1000u);
  EXPECT_EQ(memory.on_host(), 17u);
}

TEST_F(MemoryEstimateTest, CopiesForLoadingAndForSavingDoNotExistAtOnce) {
  auto device = std::make_unique<FakeDevice>();
  device->loading = size_t{1} << 40;
  device_ = std::move(device);
  EXPECT_EQ(estimate().on_host(), (size_t{1} << 40) + 10);
}

}  // namespace
}  // namespace berth
