#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "entrypoint/platform/platform.h"
#include "trainer/loop/options.h"

namespace berth {

// Where the PJRT plugin of a TPU, of a GPU or of kXlaCpu may lie, the likeliest place first:
//   1. where PJRT_NAMES_AND_LIBRARY_PATHS says, for a TPU also TPU_LIBRARY_PATH;
//   2. for a TPU /lib/libtpu.so and /usr/lib/libtpu.so, where TPU VMs have it;
//   3. ../lib/berth/plugins beside the program's folder, where `pip install --target` unpacked the
//      wheel of the plugin: libtpu, jax-cuda13-pjrt, jax-cuda12-pjrt or lammps-jax-pjrt-cpu;
//   4. where the program lies in its own wheel, SITE/berth_trainer/dist/bin, also SITE itself, the
//      folder in which pip installs the wheels of one environment.
// No other folder is searched, because loading a plugin runs its code.
// The paths below / are below `root`, which is "/" but in tests.
std::vector<std::filesystem::path> plugin_places(DeviceKind kind,
                                                 const AcceleratorEnvironment& environment,
                                                 const std::filesystem::path& program_folder,
                                                 const std::filesystem::path& root);

// The first of these paths that exists, or an empty one.
std::filesystem::path first_existing(const std::vector<std::filesystem::path>& paths);

}  // namespace berth
