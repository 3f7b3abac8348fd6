#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/flags/flags.h"
#include "entrypoint/memory/memory_budget.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// The environment that a launcher makes.
const ClusterPlace kSecondOfFour = {
    .rank = 1, .size = 4, .leader_host = "job-0", .leader_port = 2222};

CommandLine parse_workers(std::vector<const char*> arguments, const ClusterPlace& cluster = {}) {
  arguments.insert(arguments.begin(), {"--train-data-file", "a.csv", "--job-dir=out"});
  Platform platform;
  platform.cluster = cluster;
  return parse_flags(arguments, platform);
}

void refuses_workers(const std::vector<const char*>& arguments, const std::string& says,
                     const ClusterPlace& cluster = {}) {
  EXPECT_THAT([&] { parse_workers(arguments, cluster); }, ThrowsCode(Code::kUsage, says));
}

TEST(ClusterFlags, WithoutWorkersNothingChanges) {
  const CommandLine alone = parse_workers({});
  EXPECT_EQ(alone.settings.training.place.size, 1);
  EXPECT_EQ(alone.settings.device, DeviceKind::kAuto);
  // The index of a pod says nothing of how many train together: a sweep has one, too.
  EXPECT_EQ(parse_workers({}, {.rank = 3}).settings.training.place.size, 1);
}

TEST(ClusterFlags, TakeThePlatformsWorkers) {
  const CommandLine line = parse_workers({}, kSecondOfFour);
  EXPECT_EQ(line.settings.training.place.rank, 1);
  EXPECT_EQ(line.settings.training.place.size, 4);
  EXPECT_EQ(line.cluster.leader_host, "job-0");
  EXPECT_EQ(line.cluster.leader_port, 2222);
  EXPECT_EQ(line.settings.device, DeviceKind::kCpu);
}

TEST(ClusterFlags, FlagsOutrankThePlatform) {
  const CommandLine line =
      parse_workers({"--nnodes=8", "--node_rank=7", "--master-addr=10.0.0.1"}, kSecondOfFour);
  EXPECT_EQ(line.settings.training.place.rank, 7);
  EXPECT_EQ(line.settings.training.place.size, 8);
  EXPECT_EQ(line.cluster.leader_host, "10.0.0.1");
  EXPECT_EQ(parse_workers({"--world-size=1"}, kSecondOfFour).settings.training.place.size, 1);
  // With --world-size, the index of a pod is its rank.
  const CommandLine indexed = parse_workers({"--world-size=4"}, {.rank = 2});
  EXPECT_EQ(indexed.settings.training.place.rank, 2);
  EXPECT_FALSE(indexed.cluster.leader_port);
  EXPECT_EQ(parse_workers({"--world-size=2", "--rank=0", "--master-addr=h"}).cluster.leader_port,
            29500);
}

TEST(ClusterFlags, TakeTheSecretOfTheEnvironmentAndAFile) {
  ClusterPlace place = kSecondOfFour;
  place.secret = "a secret of the workers";
  const CommandLine line = parse_workers({"--cluster-secret-file=secret"}, place);
  EXPECT_EQ(line.cluster.secret, "a secret of the workers");
  EXPECT_EQ(line.cluster.secret_file, "secret");
  // No setting of the job, which job.json and the report would show.
  for (const Setting& setting : settings_table(line.settings)) {
    EXPECT_NE(setting.name, "cluster-secret-file");
  }
}

TEST(ClusterFlags, OtherModesAndRunsInsideAJobHaveNoWorkers) {
  for (const char* mode : {"--mode=heartbeat", "--mode=bench"}) {
    EXPECT_EQ(parse_workers({mode}, kSecondOfFour).settings.training.place.size, 1) << mode;
  }
  EXPECT_EQ(parse_workers({"--parent-process=7"}, kSecondOfFour).settings.training.place.size, 1);
}

TEST(ClusterFlags, WhatOneWorkerDoesIsRefused) {
  refuses_workers({"--world-size=2"}, "nothing says which of them");
  refuses_workers({"--world-size=2", "--rank=2"}, "numbers 0 to 1");
  refuses_workers({"--device=gpu", "--devices=2"}, "all of their devices", kSecondOfFour);
  refuses_workers({"--device=gpu", "--shard-optimizer"}, "cannot divide the optimizer",
                  kSecondOfFour);
  refuses_workers({"--seeds=2"}, "the flag needs one worker, and this job has 4", kSecondOfFour);
  refuses_workers({}, R"(makes this process a "evaluator")", {.other_role = "evaluator"});
  refuses_workers({}, "PET_NNODES is 1:3", {.size_range = "1:3"});
  refuses_workers({"--elastic=1:3"}, "nothing says which of them", {.size_range = "1:3"});
}

TEST(ClusterFlags, AFlagOutranksARangeOfWorkers) {
  EXPECT_EQ(parse_workers({"--world-size=1"}, {.size_range = "1:3"}).cluster.size, 1);
  EXPECT_EQ(parse_workers({"--elastic=1:3", "--rank=2"}, {.size_range = "1:3"}).cluster.rank, 2);
}

TEST(ClusterFlags, WorkersLearnFromATeacherBesideAGeneratorAndCompareTexts) {
  for (const char* flag : {"--teacher=t", "--task=electra", "--task=similarity"}) {
    EXPECT_EQ(parse_workers({flag}, kSecondOfFour).settings.training.place.size, 4) << flag;
  }
}

TEST(ClusterFlags, WorkersAlsoInfer) {
  const std::vector<const char*> predict = {"--mode=predict", "--predict-data-file=p.csv"};
  EXPECT_EQ(parse_workers(predict, kSecondOfFour).cluster.size, 4);
  std::vector<const char*> homeless = {"--mode=predict", "--predict-data-file=p.csv", "--model=m",
                                       "--world-size=2", "--rank=0"};
  const auto parse_without_job_dir = [&] { parse_flags(homeless, {}); };
  EXPECT_THAT(parse_without_job_dir, ThrowsCode(Code::kUsage, "how the workers find worker 0"));
  homeless.push_back("--master-addr=h");
  EXPECT_NO_THROW(parse_without_job_dir());
}

TEST(ClusterFlags, AShareNeedsThePartOfTheMemory) {
  const auto tokens = [](const std::vector<const char*>& arguments) {
    CommandLine line = parse_workers(arguments);
    return batch_limits(line.settings, /*training=*/true).tokens;
  };
  EXPECT_EQ(tokens({"--batch-size=32", "--max-seq-length=100"}), 3200);
  EXPECT_EQ(tokens({"--batch-size=32", "--max-seq-length=100", "--world-size=4", "--rank=0"}), 900);
  EXPECT_EQ(tokens({"--batch-size=32", "--max-seq-length=100", "--world-size=4", "--rank=0",
                    "--gradient-accumulation-steps=2"}),
            550);
  // Accelerators of several hosts are given whole updates.
  EXPECT_EQ(tokens({"--batch-size=32", "--max-seq-length=100", "--world-size=4", "--rank=0",
                    "--device=gpu"}),
            3200);
}

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
