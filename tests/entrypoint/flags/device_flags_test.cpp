#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/flags.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

CommandLine parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"--train-data-file", "a.csv", "--job-dir=out"});
  return parse_flags(arguments, {});
}

DeviceKind device(const std::vector<const char*>& arguments) {
  return parse(arguments).settings.device;
}

void refuses(const std::vector<const char*>& arguments, const std::string& says) {
  EXPECT_THAT([&] { parse(arguments); }, ThrowsCode(Code::kUsage, says));
}

TEST(DeviceFlags, NameADevice) {
  EXPECT_EQ(device({}), DeviceKind::kAuto);
  EXPECT_EQ(device({"--device=cpu"}), DeviceKind::kCpu);
  EXPECT_EQ(device({"--device=TPU"}), DeviceKind::kTpu);
  EXPECT_EQ(device({"--device=xla-cpu"}), DeviceKind::kXlaCpu);
  EXPECT_EQ(device({"--device=xla_cpu"}), DeviceKind::kXlaCpu);
  refuses({"--device=npu"}, R"("npu" is not one of auto, cpu, tpu, gpu, xla-cpu)");
}

TEST(DeviceFlags, TheTutorialsFlagsMeanDevices) {
  EXPECT_EQ(device({"--distribution_strategy=tpu", "--tpu=my-tpu"}), DeviceKind::kTpu);
  EXPECT_EQ(device({"--tpu=local", "--num_gpus=0"}), DeviceKind::kTpu);
  EXPECT_EQ(device({"--num_gpus=2", "--distribution_strategy=mirrored"}), DeviceKind::kGpu);
  EXPECT_EQ(device({"--distribution-strategy=gpu"}), DeviceKind::kGpu);
  EXPECT_EQ(device({"--num_gpus=0"}), DeviceKind::kCpu);
  EXPECT_EQ(device({"--distribution_strategy=mirrored"}), DeviceKind::kAuto);
  EXPECT_EQ(device({"--num_gpus=0", "--device=xla-cpu"}), DeviceKind::kXlaCpu);
}

TEST(DeviceFlags, CountDevices) {
  EXPECT_EQ(parse({}).device.devices, 0);
  EXPECT_EQ(parse({"--num_gpus=2"}).device.devices, 2);
  EXPECT_EQ(parse({"--device=tpu", "--devices=4"}).device.devices, 4);
  EXPECT_EQ(parse({"--distribution_strategy=one_device"}).device.devices, 1);
  refuses({"--num_gpus=2", "--devices=4"}, "--num-gpus asks for 2, and another flag for 4");
  refuses({"--num_gpus=2", "--distribution_strategy=one_device"}, "--distribution-strategy asks");
}

TEST(DeviceFlags, StrategiesHaveTheirClassNamesToo) {
  EXPECT_EQ(device({"--distribution-strategy=TPUStrategy"}), DeviceKind::kTpu);
  EXPECT_EQ(device({"--distribution-strategy=MirroredStrategy"}), DeviceKind::kAuto);
  EXPECT_EQ(parse({"--distribution-strategy=OneDeviceStrategy"}).device.devices, 1);
  EXPECT_THAT(parse({"--distribution-strategy=MultiWorkerMirroredStrategy"}).notes,
              testing::ElementsAre(testing::HasSubstr("is for several machines")));
  refuses({"--distribution-strategy=central"}, R"("central" is not one of mirrored, one_device)");
}

TEST(DeviceFlags, ContradictionsAreRefused) {
  refuses({"--num_gpus=2", "--device=tpu"}, "--num-gpus 2 and --device tpu ask for different");
  refuses({"--num_gpus=0", "--device=gpu"}, "--num-gpus 0 and --device gpu ask for different");
  refuses({"--num_gpus=1", "--tpu=x"}, "--tpu and --num-gpus 1 ask for different devices");
  refuses({"--tpu=x", "--device=cpu"}, "--tpu and --device cpu ask for different devices");
  refuses({"--distribution_strategy=tpu", "--num_gpus=1"}, "--distribution-strategy tpu and");
  refuses({"--device=cpu", "--pjrt-plugin=a.so"}, "the CPU's own kernels need no plugin");
  refuses({"--device=cpu", "--devices=2"}, "the CPU's own kernels are one device");
}

TEST(DeviceFlags, AJobRecordsItsDeviceAndMayContinueOnAnother) {
  const SettingsTable table = settings_table(parse({"--tpu=x"}).settings);
  EXPECT_THAT(table, testing::Contains(Setting{"device", "tpu", Effect::kFree}));
}

}  // namespace
}  // namespace berth
