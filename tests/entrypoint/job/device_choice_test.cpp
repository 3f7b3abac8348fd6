#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "entrypoint/job/job.h"
#include "tests/support/captured_log.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::HasSubstr;

namespace fs = std::filesystem;

// A machine in a folder: its devices, its plugins and the program.
class DeviceChoiceTest : public testing::Test {
 protected:
  void add(const std::string& path, const std::string& content = "") {
    const fs::path file = root_.path() / path;
    fs::create_directories(file.parent_path());
    write_text(file, content);
  }
  void add_tpu() {
    add("dev/accel0");
    add("sys/devices/virtual/dmi/id/product_name", "Google Compute Engine\n");
  }
  DeviceChoice choose(DeviceKind kind) {
    command_line_.settings.device = kind;
    return choose_device(command_line_,
                         {.root = root_.path(), .program_folder = root_.path() / "opt/bin"});
  }
  void refuses(DeviceKind kind, Code code, const std::string& says) {
    EXPECT_THAT([&] { choose(kind); }, ThrowsCode(code, says));
  }

  static constexpr const char* kGpuPlugin =
      "opt/lib/berth/plugins/jax_plugins/xla_cuda12/xla_cuda_plugin.so";
  ScratchDirectory root_;
  CommandLine command_line_;
  CapturedLog log_;
};

TEST_F(DeviceChoiceTest, AMachineWithoutAcceleratorsComputesOnItsCpuAndSaysNothing) {
  EXPECT_EQ(choose(DeviceKind::kAuto).kind, DeviceKind::kCpu);
  add_tpu();
  add("lib/libtpu.so");
  EXPECT_EQ(choose(DeviceKind::kCpu).kind, DeviceKind::kCpu);
  EXPECT_EQ(log_.lines(), "");
}

TEST_F(DeviceChoiceTest, OnlyAcceleratorsDrawDropoutByThreefry) {
  command_line_.device.generator = DropoutGenerator::kThreefry;
  refuses(DeviceKind::kAuto, Code::kUsage, "the CPU draws dropout by Philox only");
  refuses(DeviceKind::kCpu, Code::kUsage, "--dropout-generator threefry");
  add_tpu();
  add("lib/libtpu.so");
  EXPECT_EQ(choose(DeviceKind::kAuto).kind, DeviceKind::kTpu);
}

TEST_F(DeviceChoiceTest, AutoTakesATpuBeforeAGpuAndSaysSoInOneLine) {
  add("dev/nvidiactl");
  add(kGpuPlugin);
  EXPECT_EQ(choose(DeviceKind::kAuto).kind, DeviceKind::kGpu);
  add_tpu();
  add("lib/libtpu.so");
  const DeviceChoice choice = choose(DeviceKind::kAuto);
  EXPECT_EQ(choice.kind, DeviceKind::kTpu);
  EXPECT_EQ(choice.plugin, root_ / "lib/libtpu.so");
  EXPECT_EQ(std::ranges::count(log_.lines(), '\n'), 2);  // one for each choice
  EXPECT_THAT(log_.lines(), HasSubstr("device: TPU, driven by"));
}

TEST_F(DeviceChoiceTest, AutoTakesTheCpuForWhatOnlyCpusCompute) {
  add_tpu();
  add("lib/libtpu.so");
  command_line_.settings.mode = Mode::kPredict;
  command_line_.settings.precision = Precision::kInt8;
  EXPECT_EQ(choose(DeviceKind::kAuto).kind, DeviceKind::kCpu);
  EXPECT_THAT(log_.lines(),
              HasSubstr("device: CPU, although this machine has a TPU, because --precision int8 "
                        "is computed on CPUs only"));
  command_line_.settings.precision = Precision::kAuto;
  command_line_.settings.data.task = "mlm";
  EXPECT_EQ(choose(DeviceKind::kAuto).kind, DeviceKind::kTpu);
}

TEST_F(DeviceChoiceTest, AutoWithoutAPluginComputesOnTheCpuAndWarns) {
  add_tpu();
  EXPECT_EQ(choose(DeviceKind::kAuto).kind, DeviceKind::kCpu);
  EXPECT_THAT(log_.warnings(), HasSubstr("the CPU computes, although this machine has a TPU"));
  EXPECT_EQ(std::ranges::count(log_.warnings(), '\n'), 1);
}

TEST_F(DeviceChoiceTest, ANamedDeviceMustBeThere) {
  refuses(DeviceKind::kTpu, Code::kUsage, "this machine has no TPU");
  refuses(DeviceKind::kGpu, Code::kUsage, "this machine has no NVIDIA GPU");
}

TEST_F(DeviceChoiceTest, ANamedDeviceNeedsItsPlugin) {
  add_tpu();
  add("dev/nvidia0");
  refuses(DeviceKind::kTpu, Code::kNotFound,
          "there is no PJRT plugin for a TPU in " + root_.path().string());
  refuses(DeviceKind::kGpu, Code::kNotFound, "--pjrt-plugin");
  refuses(DeviceKind::kXlaCpu, Code::kNotFound, "there is no PJRT plugin for a CPU");
}

TEST_F(DeviceChoiceTest, TheFlagNamesThePlugin) {
  command_line_.device.plugin = root_ / "mine.so";
  refuses(DeviceKind::kXlaCpu, Code::kNotFound, "there is no such file");
  add("mine.so");
  EXPECT_EQ(choose(DeviceKind::kXlaCpu).plugin, root_ / "mine.so");
  refuses(DeviceKind::kAuto, Code::kUsage, "no TPU and no GPU that the plugin could drive");
  add("dev/nvidia0");
  EXPECT_EQ(choose(DeviceKind::kAuto).plugin, root_ / "mine.so");
}

TEST_F(DeviceChoiceTest, ASliceOfSeveralHostsIsRefused) {
  add_tpu();
  add("lib/libtpu.so");
  command_line_.device.environment.tpu_hosts = "a,b";
  refuses(DeviceKind::kAuto, Code::kUsage, "a slice of 2 hosts");
}

}  // namespace
}  // namespace berth
