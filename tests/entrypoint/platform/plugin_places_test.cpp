#include "entrypoint/platform/plugin_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "entrypoint/platform/cuda_libraries.h"
#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

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

TEST_F(CudaLibrariesTest, APluginWithoutWheelsBesideItHasNone) {
  EXPECT_THAT(libraries("jax_plugins/xla_cuda13/xla_cuda_plugin.so"), IsEmpty());
  EXPECT_EQ(find_cuda_files("/p.so").data_folder, "");
}

}  // namespace
}  // namespace berth
