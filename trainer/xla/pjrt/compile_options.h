#pragma once

#include <string>
#include <utility>
#include <vector>

namespace berth {

// How a program is compiled.
struct PjrtCompileOptions {
  // As many copies of the program run, one a device. all_reduce adds over them.
  int replicas = 1;
  // The ids of the devices on which they run, one for each. Empty: the plugin's choice.
  std::vector<int> device_ids{};
  // Flags of XLA for this program alone, such as {"xla_gpu_deterministic_ops", true}. A plugin
  // refuses flags that it does not know.
  std::vector<std::pair<std::string, bool>> flags{};
};

// The options as a serialized xla.CompileOptionsProto (xla/pjrt/proto/compile_options.proto):
//   3 executable_build_options { 1 device_ordinal = -1; 4 num_replicas; 5 num_partitions = 1;
//       9 DeviceAssignmentProto { 1 replica_count; 2 computation_count = 1;
//                                 3 ComputationDevice { 1 replica_device_ids } } }
//   7 map env_option_overrides { 1 key; 2 OptionOverrideProto { 2 bool } }
// Throws kInternal where replicas is less than 1, or not the number of the devices.
std::string serialized(const PjrtCompileOptions& options);

}  // namespace berth
