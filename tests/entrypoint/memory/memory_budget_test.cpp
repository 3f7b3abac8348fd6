#include "entrypoint/memory/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/base/error.h"

namespace berth {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMiB = uint64_t{1} << 20;

// A job that needs 100 MiB and 10 MiB more for each example.
MemoryEstimate linear(int64_t batch) {
  return {
      .engine = {.parameters = 100 * kMiB, .activations = static_cast<size_t>(batch) * 10 * kMiB}};
}

MemoryLimits limit_of(uint64_t mebibytes) {
  return {.host = MemoryLimit{mebibytes * kMiB, "the container's limit"}};
}

std::string complaint(const BatchSizes& shape, uint64_t mebibytes) {
  try {
    require_memory(shape, linear(shape.at_once()), limit_of(mebibytes), linear);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kMemory);
    return error.what();
  }
  return "";
}

TEST(LargestFittingBatch, IsTheLastThatFits) {
  EXPECT_EQ(largest_fitting_batch(32, limit_of(239), linear), 13);
  EXPECT_EQ(largest_fitting_batch(32, limit_of(240), linear), 14);
  EXPECT_EQ(largest_fitting_batch(32, limit_of(110), linear), 1);
  EXPECT_EQ(largest_fitting_batch(32, limit_of(109), linear), 0);
  EXPECT_EQ(largest_fitting_batch(32, limit_of(9999), linear), 32);
  EXPECT_EQ(largest_fitting_batch(1, limit_of(110), linear), 1);
}

TEST(RequireMemory, AcceptsAJobThatFits) {
  EXPECT_EQ(complaint({.batch_size = 32}, 420), "");
  EXPECT_EQ(complaint({.batch_size = 32, .micro_batches = 4}, 180), "");
  EXPECT_EQ(complaint({.batch_size = 3200, .micro_batches = 2, .rows = 30}, 400), "");
  require_memory({.batch_size = 1'000'000}, linear(1'000'000), {}, linear);
}

TEST(RequireMemory, SaysTheNumbersAndWhatWouldFit) {
  EXPECT_EQ(complaint({.batch_size = 32}, 230),
            "the job needs up to 420.0 MiB of memory, 320.0 MiB of it for 32 examples at once, and "
            "the container's limit is 230.0 MiB; --batch-size 13 would fit; so would the same "
            "updates with "
            "--gradient-accumulation-steps 3");
}

TEST(RequireMemory, CountsMicroBatches) {
  EXPECT_THAT(complaint({.batch_size = 32, .micro_batches = 2}, 230),
              HasSubstr("; --gradient-accumulation-steps 3 would fit"));
  // There are fewer rows than a batch has examples.
  EXPECT_THAT(complaint({.batch_size = 3200, .micro_batches = 16, .rows = 60}, 230),
              HasSubstr("for 60 examples at once"));
}

TEST(RequireMemory, NamesTheEvaluationIfThatTakesTooMuch) {
  EXPECT_THAT(complaint({.batch_size = 8, .evaluated = 64}, 230),
              HasSubstr("for 64 examples at once"));
  EXPECT_THAT(complaint({.batch_size = 8, .evaluated = 64}, 230),
              HasSubstr("; --eval-batch-size 13 would fit"));
  EXPECT_THAT(complaint({.batch_size = 32, .evaluated = 64}, 230),
              HasSubstr("--batch-size 13 with --eval-batch-size 13 would fit"));
}

TEST(RequireMemory, CountsTokensWithATokenBudget) {
  const std::string text = complaint({.batch_size = 32, .tokens_an_example = 4}, 230);
  EXPECT_THAT(text, HasSubstr("for 32 tokens at once"));
  EXPECT_THAT(text, HasSubstr("; --token-budget 13 would fit"));
  EXPECT_THAT(complaint({.batch_size = 8, .evaluated = 64, .tokens_an_example = 4}, 230),
              HasSubstr("; --eval-batch-size 3 would fit"));
}

TEST(RequireMemory, OfAnInferenceSuggestsAnEvaluationBatchSize) {
  EXPECT_THAT(complaint({.evaluated = 64}, 230), HasSubstr("; --eval-batch-size 13 would fit"));
}

TEST(RequireMemory, KnowsThatUpdatesOfOneExampleMayTakeLess) {
  const BatchSizes shape{.batch_size = 4, .fits_alone = true};
  EXPECT_THAT(complaint(shape, 105), HasSubstr("; --batch-size 1 with --eval-batch-size 1 would"));
  EXPECT_THAT(complaint({.batch_size = 4}, 104), HasSubstr("not even one example at a time fits"));
  EXPECT_THAT(complaint(shape, 120), HasSubstr("--batch-size 2 would fit; so would"));
}

TEST(RequireMemory, SaysIfNoBatchFits) {
  EXPECT_THAT(complaint({.batch_size = 4}, 105),
              HasSubstr("not even one example at a time fits: use --recompute, a smaller model"));
  EXPECT_THAT(complaint({.batch_size = 4, .recomputes = true}, 105),
              HasSubstr("not even one example at a time fits: use a smaller model"));
}

TEST(RequireMemory, NamesTheOutputsOfATeacher) {
  const auto with_teacher = [](int64_t batch) {
    MemoryEstimate memory = linear(batch);
    memory.teacher = 1000 * kMiB;
    return memory;
  };
  const auto complaint_of = [&](const BatchSizes& shape) -> std::string {
    try {
      require_memory(shape, with_teacher(shape.at_once()), limit_of(500), with_teacher);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(
      complaint_of({.batch_size = 4, .recomputes = true, .smaller_outputs = "fewer rows"}),
      "the job needs up to 1.1 GiB of memory, 40.0 MiB of it for 4 examples at once, "
      "1000.0 MiB of it for the teacher's outputs, and the container's limit is 500.0 MiB; not "
      "even one example at a time fits: use fewer rows, a smaller model, a shorter "
      "--max-seq-length or more memory");
}

// The same job on a device with memory of its own, while the host needs 50 MiB.
class RequireMemoryOfDevices : public testing::Test {
 protected:
  static MemoryEstimate on_device(int64_t batch) {
    MemoryEstimate memory = linear(batch);
    memory.engine.has_own_memory = true;
    memory.engine.plugin = 50 * kMiB;
    return memory;
  }
  std::string complaint(uint64_t host, uint64_t device) {
    try {
      require_memory({.batch_size = 32}, on_device(32),
                     {.host = MemoryLimit{host * kMiB, "the container's limit"},
                      .device = MemoryLimit{device * kMiB, "the device's limit"}},
                     on_device);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(RequireMemoryOfDevices, ComparesEachMemoryWithItsOwnLimit) {
  EXPECT_EQ(complaint(50, 420), "");
  EXPECT_THAT(complaint(9999, 230),
              HasSubstr("needs up to 420.0 MiB of the device's memory, 320.0 MiB of it for 32 "
                        "examples at once, and the device's limit is 230.0 MiB; --batch-size 13"));
  EXPECT_THAT(complaint(49, 420),
              HasSubstr("needs up to 50.0 MiB of memory and the container's limit is 49.0 MiB; "
                        "not even one example"));
}

class FakeDevice final : public Device {
 public:
  const EngineInfo& info() const override { return info_; }
  EngineMemory memory_of(const EngineOptions&) override { return {}; }
  std::optional<DeviceMemory> memory() const override { return told; }
  std::unique_ptr<Engine> make_engine(const EngineOptions&) override { return nullptr; }
  std::optional<DeviceMemory> told;

 private:
  EngineInfo info_;
};

TEST(MemoryLimits, AreThoseThatHostAndDeviceTell) {
  FakeDevice device;
  EXPECT_EQ(memory_limits(device).host, memory_limit());
  EXPECT_FALSE(memory_limits(device).device);
  device.told = {.in_use = 3};
  EXPECT_FALSE(memory_limits(device).device);
  device.told->limit = 100;
  EXPECT_EQ(memory_limits(device).device, (MemoryLimit{100, "the device's limit"}));
}

}  // namespace
}  // namespace berth
