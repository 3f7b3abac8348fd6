#include "entrypoint/platform/accelerators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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

namespace fs = std::filesystem;

std::vector<fs::path> places(DeviceKind kind, const AcceleratorEnvironment& environment = {}) {
  return plugin_places(kind, environment, "/usr/local/bin", "/");
}

TEST(PluginPlaces, OfATpuAreItsVariableTheMachinesAndTheImages) {
  EXPECT_THAT(places(DeviceKind::kTpu),
              ElementsAre("/lib/libtpu.so", "/usr/lib/libtpu.so",
                          "/usr/local/lib/berth/plugins/libtpu/libtpu.so"));
  EXPECT_EQ(places(DeviceKind::kTpu, {.tpu_library = "/a/libtpu.so"})[0], "/a/libtpu.so");
}

TEST(PluginPlaces, OfAGpuAreTheWheelsOfCuda) {
  EXPECT_THAT(
      places(DeviceKind::kGpu),
      ElementsAre("/usr/local/lib/berth/plugins/jax_plugins/xla_cuda13/xla_cuda_plugin.so",
                  "/usr/local/lib/berth/plugins/jax_plugins/xla_cuda12/xla_cuda_plugin.so"));
}

TEST(PluginPlaces, OfAWheelAreAlsoItsEnvironments) {
  const fs::path site = "/home/a/venv/lib/python3.12/site-packages";
  const auto in_wheel = [&](DeviceKind kind) {
    return plugin_places(kind, {}, site / "berth_trainer/dist/bin", "/");
  };
  const fs::path own = site / "berth_trainer/dist/lib/berth/plugins";
  EXPECT_THAT(in_wheel(DeviceKind::kGpu),
              ElementsAre(own / "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
                          own / "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
                          site / "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
                          site / "jax_plugins/xla_cuda12/xla_cuda_plugin.so"));
  EXPECT_EQ(in_wheel(DeviceKind::kTpu).back(), site / "libtpu/libtpu.so");
  EXPECT_EQ(in_wheel(DeviceKind::kXlaCpu).back(),
            site / "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so");
}

TEST(PluginPlaces, OfAFolderWithAnotherNameAreNoneOutsideOfIt) {
  for (const char* program :
       {"/site/berth_trainer/bin", "/site/other/dist/bin", "/site/dist/bin"}) {
    EXPECT_EQ(plugin_places(DeviceKind::kGpu, {}, program, "/").size(), 2u) << program;
  }
}

TEST(PluginPlaces, TheVariableOfJaxNamesThemByPlatform) {
  const AcceleratorEnvironment environment{.named_libraries = "tpu:/t.so,cuda:/c.so,x,cpu:/p:1.so"};
  EXPECT_EQ(places(DeviceKind::kTpu, environment)[0], "/t.so");
  EXPECT_EQ(places(DeviceKind::kGpu, environment)[0], "/c.so");
  EXPECT_EQ(places(DeviceKind::kXlaCpu, environment)[0], "/p:1.so");
}

TEST(PluginPlaces, TheCpusOwnKernelsHaveNone) { EXPECT_THAT(places(DeviceKind::kCpu), IsEmpty()); }

TEST(PluginPlaces, TheFirstThatExistsCounts) {
  ScratchDirectory folder;
  write_text(folder / "b", "");
  write_text(folder / "c", "");
  EXPECT_EQ(first_existing({folder / "a", folder / "b", folder / "c"}), folder / "b");
  EXPECT_EQ(first_existing({folder / "a"}), "");
}

// The wheels that `pip install --target` unpacked into a folder.
class CudaLibrariesTest : public testing::Test {
 protected:
  void add(const std::string& path) {
    const fs::path file = site_.path() / path;
    fs::create_directories(file.parent_path());
    write_text(file, "");
  }
  std::vector<std::string> libraries(const std::string& plugin) {
    std::vector<std::string> names;
    for (const fs::path& path : find_cuda_files(site_.path() / plugin).libraries) {
      names.push_back(path.lexically_relative(site_.path()));
    }
    return names;
  }
  ScratchDirectory site_;
};

TEST_F(CudaLibrariesTest, AreLoadedAfterThoseThatTheyNeed) {
  add("nvidia/cublas/lib/libcublas.so.12");
  add("nvidia/cublas/lib/libcublasLt.so.12");
  add("nvidia/cublas/lib/libnvblas.so.12");
  add("nvidia/cuda_runtime/lib/libcudart.so.12");
  add("nvidia/cudnn/lib/libcudnn.so.9");
  add("nvidia/cudnn/lib/libcudnn_ops.so.9");
  EXPECT_THAT(
      libraries("jax_plugins/xla_cuda12/xla_cuda_plugin.so"),
      ElementsAre("nvidia/cuda_runtime/lib/libcudart.so.12", "nvidia/cublas/lib/libcublasLt.so.12",
                  "nvidia/cublas/lib/libcublas.so.12", "nvidia/cudnn/lib/libcudnn.so.9"));
}

TEST_F(CudaLibrariesTest, Cuda13HasOneFolder) {
  add("nvidia/cu13/lib/libcudart.so.13");
  add("nvidia/cu13/nvvm/libdevice/libdevice.10.bc");
  EXPECT_THAT(libraries("jax_plugins/xla_cuda13/xla_cuda_plugin.so"),
              ElementsAre("nvidia/cu13/lib/libcudart.so.13"));
  EXPECT_EQ(find_cuda_files(site_.path() / "jax_plugins/xla_cuda13/p.so").data_folder,
            site_.path() / "nvidia/cu13");
}

// PyTorch may have brought the libraries of another version.
TEST_F(CudaLibrariesTest, OfAnotherVersionAreLeftAlone) {
  add("nvidia/cu12/lib/libcudart.so.12");
  add("nvidia/cublas/lib/libcublas.so.12");
  add("nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc");
  add("nvidia/cu13/bin/ptxas");
  add("nvidia/cu13/lib/libcublas.so.13");
  add("nvidia/cudnn/lib/libcudnn.so.9");
  add("nvidia/nccl/lib/libnccl.so.2");
  EXPECT_THAT(libraries("jax_plugins/xla_cuda13/xla_cuda_plugin.so"),
              ElementsAre("nvidia/cu13/lib/libcublas.so.13", "nvidia/nccl/lib/libnccl.so.2",
                          "nvidia/cudnn/lib/libcudnn.so.9"));
  EXPECT_EQ(find_cuda_files(site_.path() / "jax_plugins/xla_cuda13/p.so").data_folder,
            site_.path() / "nvidia/cu13");
}

TEST_F(CudaLibrariesTest, OfCuda12AreNotThoseOf13) {
  add("nvidia/cu13/lib/libcudart.so.13");
  add("nvidia/cuda_runtime/lib/libcudart.so.12");
  add("nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc");
  EXPECT_THAT(libraries("jax_plugins/xla_cuda12/xla_cuda_plugin.so"),
              ElementsAre("nvidia/cuda_runtime/lib/libcudart.so.12"));
  EXPECT_EQ(find_cuda_files(site_.path() / "jax_plugins/xla_cuda12/p.so").data_folder,
            site_.path() / "nvidia/cuda_nvcc");
}

TEST(DriverTest, ComesAfterTheLibrariesThatItLoads) {
  ScratchDirectory root;
  const auto add = [&](const fs::path& file) {
    fs::create_directories((root.path() / file).parent_path());
    write_text(root.path() / file, "");
  };
  EXPECT_THAT(find_driver(root.path()), IsEmpty());
  const fs::path folder = "usr/local/nvidia/lib64";
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-gpucomp.so.580.1",
                           "libnvidia-ptxjitcompiler.so.1", "libnvidia-other.so.1"}) {
    add(folder / name);
  }
  add("usr/lib64/libcuda.so.1");
  EXPECT_THAT(find_driver(root.path()),
              ElementsAre(root.path() / (folder / "libnvidia-gpucomp.so.580.1"),
                          root.path() / (folder / "libnvidia-ptxjitcompiler.so.1"),
                          root.path() / (folder / "libnvidia-ml.so.1"),
                          root.path() / (folder / "libcuda.so.1")));
}

TEST(DriverTest, IsFoundWithoutTheLinkThatNamesIt) {
  ScratchDirectory root;
  const fs::path folder = root.path() / "usr/lib64";
  fs::create_directories(folder);
  for (const char* name : {"libcuda.so.535.104.05.backup", "libcuda.so.", "libcudadebugger.so.1"}) {
    write_text(folder / name, "");
  }
  EXPECT_THAT(find_driver(root.path()), IsEmpty());
  for (const char* name : {"libcuda.so.535.104.05", "libnvidia-ml.so.535.104.05"}) {
    write_text(folder / name, "");
  }
  EXPECT_THAT(find_driver(root.path()),
              ElementsAre(folder / "libnvidia-ml.so.535.104.05", folder / "libcuda.so.535.104.05"));
}

TEST_F(CudaLibrariesTest, APluginWithoutWheelsBesideItHasNone) {
  EXPECT_THAT(libraries("jax_plugins/xla_cuda13/xla_cuda_plugin.so"), IsEmpty());
  EXPECT_EQ(find_cuda_files("/p.so").data_folder, "");
}

}  // namespace
}  // namespace berth
