#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/xla/pjrt/buffer.h"
#include "trainer/xla/pjrt/client.h"
#include "trainer/xla/pjrt/plugin.h"

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

// What one execution needs in the memory of each device, in bytes, as the compiler planned it.
struct PjrtProgramMemory {
  int64_t arguments = 0;
  int64_t outputs = 0;
  int64_t aliased = 0;  // the outputs that take the place of donated arguments
  int64_t temporary = 0;
  int64_t code = 0;
  // What an execution takes in all.
  int64_t total() const { return arguments + outputs - aliased + temporary + code; }
};

// BERT-large takes minutes on a slow host, and more time than this no user waits.
constexpr double kCompileDeadlineS = 30 * 60;

// The arguments of one replica, in the order of the program's parameters.
using PjrtArguments = std::vector<const PjrtBuffer*>;

// What an execution returns, at once and before the devices have computed it.
struct PjrtResults {
  std::vector<std::vector<PjrtBuffer>> outputs;  // [replica][output]; usable as arguments at once
  std::vector<PjrtEvent> done;                   // [replica]
};

// A compiled program on the devices of a client. The program is a StableHLO module, as text or as
// MLIR bytecode, whose public function is @main.
//
// A parameter with the attribute `tf.aliasing_output = i : i32` is donated: output i takes its
// memory, and the buffer passed for it is deleted by the execution. Each execution therefore needs
// another buffer for it, normally output i of the execution before.
//
// Thread-safe except for moves. Must be destroyed before the PjrtClient.
class PjrtExecutable {
 public:
  // Compiles. Throws kInternal, with the compiler's message, for a program or an option that the
  // plugin does not accept. Throws kMemory if the program does not fit, and kUsage if compiling
  // takes longer than `deadline_s` seconds. plugin.h says what a plugin that hangs leaves behind.
  static PjrtExecutable compile(const PjrtClient& client, std::string_view program,
                                const PjrtCompileOptions& options = {},
                                double deadline_s = kCompileDeadlineS);
  // Loads what serialize() returned for a client of the same plugin on the same kind of device.
  // Throws kCorrupt where the plugin does not accept it, and kUsage where it cannot load. Plugins
  // trust these bytes: never pass any that were not checked against damage.
  static PjrtExecutable load(const PjrtClient& client, std::string_view serialized);

  // Throws kUsage where the plugin cannot.
  std::string serialize() const;

  // Starts one execution: arguments[r] on the device of replica r. Returns when it is enqueued. The
  // arguments may be destroyed then. Throws kInternal for arguments that do not fit the program,
  // and kMemory. A failure while the devices compute is thrown by `done`, and by downloads of
  // outputs.
  PjrtResults execute(std::span<const PjrtArguments> arguments) const;

  size_t outputs() const { return outputs_; }
  size_t replicas() const { return replicas_; }

  // nullopt if the plugin does not report it.
  std::optional<PjrtProgramMemory> memory() const;
  std::optional<double> flops() const;  // of one execution on one device, as the compiler counts

 private:
  PjrtExecutable(const PjrtPlugin& plugin, PjrtOwned<PJRT_LoadedExecutable> loaded);

  const PjrtPlugin* plugin_;
  PjrtOwned<PJRT_LoadedExecutable> loaded_;
  PjrtOwned<PJRT_Executable> executable_;
  size_t outputs_ = 0, replicas_ = 0;
};

}  // namespace berth
