#include "entrypoint/platform/accelerators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::HasSubstr;

// A machine whose devices are files below a folder.
class AcceleratorsTest : public testing::Test {
 protected:
  void add(const std::string& path, const std::string& content = "") {
    const std::filesystem::path file = root_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    write_text(file, content);
  }
  void add_product(const std::string& name) {
    add("sys/devices/virtual/dmi/id/product_name", name + "\n");
  }
  Presence tpu() { return find_tpu(root_.path(), environment_); }
  Presence gpu() { return find_gpu(root_.path()); }

  ScratchDirectory root_;
  AcceleratorEnvironment environment_;
};

TEST_F(AcceleratorsTest, AMachineWithoutDevicesHasNone) {
  EXPECT_FALSE(tpu().is_there);
  EXPECT_THAT(tpu().problem, HasSubstr("this machine has no TPU"));
  EXPECT_FALSE(gpu().is_there);
  EXPECT_THAT(gpu().problem, HasSubstr("this machine has no NVIDIA GPU"));
}

TEST_F(AcceleratorsTest, ATpuIsAChipOnComputeEngine) {
  add_product("Google Compute Engine");
  EXPECT_FALSE(tpu().is_there);
  add("dev/accel0");
  EXPECT_TRUE(tpu().is_there);
}

TEST_F(AcceleratorsTest, NewerChipsAreNumbersBelowVfio) {
  add_product("Google Compute Engine");
  add("dev/vfio/vfio");  // the control device, which machines without a TPU have too
  EXPECT_FALSE(tpu().is_there);
  add("dev/vfio/12");
  EXPECT_TRUE(tpu().is_there);
}

TEST_F(AcceleratorsTest, AChipElsewhereIsNoTpuUnlessTheUserSaysSo) {
  add("dev/accel0");
  EXPECT_THAT(tpu().problem, HasSubstr("this machine is unknown"));
  add_product("Standard PC");
  EXPECT_FALSE(tpu().is_there);
  EXPECT_THAT(tpu().problem, HasSubstr(R"(this machine is "Standard PC")"));
  EXPECT_THAT(tpu().hint, HasSubstr("TPU_SKIP_MDS_QUERY=1"));
  environment_.skips_metadata = true;
  EXPECT_TRUE(tpu().is_there);
}

TEST_F(AcceleratorsTest, OtherDevicesAreNotTakenForChips) {
  add_product("Google Compute Engine");
  add("dev/accel");
  add("dev/accelerometer");
  add("dev/accel0x");
  EXPECT_FALSE(tpu().is_there);
}

TEST_F(AcceleratorsTest, AGpuIsItsDeviceFile) {
  add("dev/nvidiactl");
  EXPECT_TRUE(gpu().is_there);
}

TEST_F(AcceleratorsTest, ADriverWithoutADeviceFileIsAContainerWithoutAGpu) {
  add("proc/driver/nvidia/version", "NVRM version");
  EXPECT_FALSE(gpu().is_there);
  EXPECT_THAT(gpu().problem, HasSubstr("was given no GPU"));
  EXPECT_THAT(gpu().hint, HasSubstr("--gpus all"));
}

TEST_F(AcceleratorsTest, ASliceNeedsAWorkerOnEachHost) {
  require_worker_on_each_host(environment_, 1);
  require_worker_on_each_host(environment_, 2);
  environment_.tpu_hosts = "localhost";
  require_worker_on_each_host(environment_, 1);
  environment_.tpu_hosts = "a,b,c,d";
  require_worker_on_each_host(environment_, 4);
  EXPECT_THAT([&] { require_worker_on_each_host(environment_, 1); },
              ThrowsCode(Code::kUsage, "a slice of 4 hosts, and the job has 1 worker"));
}

TEST_F(AcceleratorsTest, TheMemoryOfGpusIsTakenAsTheVariablesOfJaxSay) {
  EXPECT_EQ(gpu_memory_of(environment_).preallocates, std::nullopt);
  EXPECT_EQ(gpu_memory_of(environment_).fraction, std::nullopt);
  environment_.gpu_preallocates = "False";
  environment_.gpu_fraction = ".9";
  EXPECT_EQ(gpu_memory_of(environment_).preallocates, false);
  EXPECT_EQ(gpu_memory_of(environment_).fraction, 0.9f);
  environment_.gpu_preallocates = "1";
  EXPECT_EQ(gpu_memory_of(environment_).preallocates, true);
  for (const char* share : {"0", "1.5", "nan", "0.5x", "-1"}) {
    environment_.gpu_fraction = share;
    EXPECT_THAT([&] { gpu_memory_of(environment_); },
                ThrowsCode(Code::kUsage, "is no share of a GPU's memory"))
        << share;
  }
  environment_.gpu_preallocates = "maybe";
  EXPECT_THAT([&] { gpu_memory_of(environment_); },
              ThrowsCode(Code::kUsage, "is neither true nor false"));
}

}  // namespace
}  // namespace berth
