#include "trainer/xla/pjrt/executable.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/protobuf_wire.h"
#include "storage/base/text.h"
#include "trainer/xla/pjrt/api.h"
#include "trainer/xla/pjrt/plugin.h"

namespace berth {

std::string serialized(const PjrtCompileOptions& options) {
  if (options.replicas < 1) throw Error(Code::kInternal, "a program has less than one replica");
  const bool is_assigned = !options.device_ids.empty();
  if (is_assigned && options.device_ids.size() != static_cast<size_t>(options.replicas)) {
    throw Error(Code::kInternal, "not every replica of a program has a device");
  }
  // ExecutableBuildOptions of xla/pjrt/proto/compile_options.proto: device_ordinal (-1: any),
  // num_replicas, num_partitions and, if it is given, device_assignment.
  ProtoWriter build;
  build.int64(1, -1);
  build.int64(4, options.replicas);
  build.int64(5, 1);
  if (is_assigned) {
    ProtoWriter ids, assignment;
    for (const int id : options.device_ids) ids.int64(1, id);
    assignment.int64(1, options.replicas);
    assignment.int64(2, 1);
    assignment.message(3, ids);
    build.message(9, assignment);
  }
  // CompileOptionsProto: executable_build_options and env_option_overrides.
  ProtoWriter all;
  all.message(3, build);
  for (const auto& [name, value] : options.flags) {
    ProtoWriter flag, entry;
    flag.varint(2, value ? 1 : 0);
    entry.text(1, name);
    entry.message(2, flag);
    all.message(7, entry);
  }
  return std::string(as_text(all.written()));
}

namespace {

PJRT_LoadedExecutable* compiled(const PjrtPlugin& plugin, PJRT_Client* client, std::string program,
                                const std::string& options) {
  PJRT_Program code = pjrt_program(program);
  auto compilation = PJRT_ARGS(Client_Compile);
  compilation.client = client;
  compilation.program = &code;
  compilation.compile_options = options.data();
  compilation.compile_options_size = options.size();
  return PJRT_CALL(plugin, Client_Compile, args = compilation).executable;
}

}  // namespace

PjrtExecutable PjrtExecutable::compile(const PjrtClient& client, std::string_view program,
                                       const PjrtCompileOptions& options, double deadline_s) {
  struct Work {
    std::shared_ptr<PJRT_Client> client;  // destroyed after what was made with it
    PjrtOwned<PJRT_LoadedExecutable> loaded{};
  };
  const auto compile = [plugin = client.plugin(), shared = client.handle(),
                        text = std::string(program), proto = serialized(options)] {
    return Work{shared, plugin.own(compiled(plugin, shared.get(), text, proto))};
  };
  const Error late(Code::kUsage,
                   cat("the plugin did not compile a program within ", deadline_s, " s"),
                   client.plugin().path(), "use another version of the plugin, or a smaller model");
  Work work = run_within<Work>(deadline_s, compile, late);
  return {client.plugin(), std::move(work.loaded)};
}

PjrtExecutable PjrtExecutable::load(const PjrtClient& client, std::string_view serialized) {
  auto loading = PJRT_ARGS(Executable_DeserializeAndLoad);
  loading.client = client.handle().get();
  loading.serialized_executable = serialized.data();
  loading.serialized_executable_size = serialized.size();
  try {
    loading = PJRT_CALL(client.plugin(), Executable_DeserializeAndLoad, args = loading);
  } catch (const Error& error) {
    if (error.code() == Code::kMemory || error.code() == Code::kUsage) throw;
    throw Error(Code::kCorrupt, error.problem(), error.where(), "compile the program again");
  }
  return {client.plugin(), client.plugin().own(loading.loaded_executable)};
}

PjrtExecutable::PjrtExecutable(const PjrtPlugin& plugin, PjrtOwned<PJRT_LoadedExecutable> loaded)
    : plugin_(&plugin), loaded_(std::move(loaded)) {
  executable_ = plugin.own(
      PJRT_CALL(plugin, LoadedExecutable_GetExecutable, args.loaded_executable = loaded_.get())
          .executable);
  outputs_ =
      PJRT_CALL(plugin, Executable_NumOutputs, args.executable = executable_.get()).num_outputs;
  replicas_ =
      PJRT_CALL(plugin, LoadedExecutable_AddressableDevices, args.executable = loaded_.get())
          .num_addressable_devices;
}

std::string PjrtExecutable::serialize() const {
  const auto out = PJRT_CALL(*plugin_, Executable_Serialize, args.executable = executable_.get());
  const std::unique_ptr<PJRT_SerializedExecutable, void (*)(PJRT_SerializedExecutable*)> owner(
      out.serialized_executable, out.serialized_executable_deleter);
  return {out.serialized_bytes, out.serialized_bytes_size};
}

PjrtResults PjrtExecutable::execute(std::span<const PjrtArguments> arguments) const {
  if (arguments.empty() || arguments.size() != replicas_) {
    throw Error(
        Code::kInternal,
        cat("a program of ", replicas_, " replicas was given arguments for ", arguments.size()),
        plugin_->path());
  }
  // Lists of C pointers: [replica][argument] to read, [replica][output] to be filled.
  const size_t count = arguments[0].size();
  std::vector<PJRT_Buffer*> inputs, results(replicas_ * outputs_);
  for (const PjrtArguments& of_replica : arguments) {
    if (of_replica.size() != count) {
      throw Error(Code::kInternal, "replicas have different numbers of arguments", plugin_->path());
    }
    for (const PjrtBuffer* buffer : of_replica) inputs.push_back(buffer->handle());
  }
  std::vector<PJRT_Buffer* const*> input_lists;
  std::vector<PJRT_Buffer**> result_lists;
  for (size_t r = 0; r < replicas_; ++r) {
    input_lists.push_back(inputs.data() + r * count);
    result_lists.push_back(results.data() + r * outputs_);
  }
  std::vector<PJRT_Event*> events(replicas_);

  // The call returns when the program is queued. Events say when each replica is done.
  auto options = pjrt_args<PJRT_ExecuteOptions>(PJRT_ExecuteOptions_STRUCT_SIZE);
  auto execution = PJRT_ARGS(LoadedExecutable_Execute);
  execution.executable = loaded_.get();
  execution.options = &options;
  execution.argument_lists = input_lists.data();
  execution.num_devices = replicas_;
  execution.num_args = count;
  execution.output_lists = result_lists.data();
  execution.device_complete_events = events.data();
  PJRT_CALL(*plugin_, LoadedExecutable_Execute, args = execution);

  // From here on the outputs are owned.
  PjrtResults out;
  out.outputs.resize(replicas_);
  for (size_t r = 0; r < replicas_; ++r) {
    for (size_t i = 0; i < outputs_; ++i) {
      out.outputs[r].emplace_back(*plugin_, result_lists[r][i]);
    }
    out.done.emplace_back(*plugin_, events[r]);
  }
  return out;
}

std::optional<PjrtProgramMemory> PjrtExecutable::memory() const {
  try {
    const auto answer =
        PJRT_CALL(*plugin_, Executable_GetCompiledMemoryStats, args.executable = executable_.get());
    return PjrtProgramMemory{.arguments = answer.argument_size_in_bytes,
                             .outputs = answer.output_size_in_bytes,
                             .aliased = answer.alias_size_in_bytes,
                             .temporary = answer.temp_size_in_bytes,
                             .code = answer.generated_code_size_in_bytes};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<double> PjrtExecutable::flops() const {
  try {
    return pjrt_flops(*plugin_, executable_.get());
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<double> pjrt_flops(const PjrtPlugin& plugin, PJRT_Executable* executable) {
  const auto answer = PJRT_CALL(plugin, Executable_GetCostAnalysis, args.executable = executable);
  // A newer plugin's properties may be longer than this program's: they state their size.
  const auto* bytes = reinterpret_cast<const std::byte*>(answer.properties);
  constexpr size_t kAlignment = alignof(PJRT_NamedValue);
  for (size_t i = 0; i < answer.num_properties; ++i) {
    const auto& property = *reinterpret_cast<const PJRT_NamedValue*>(bytes);
    const std::string_view name(property.name, property.name_size);
    if (name == "flops" && property.type == PJRT_NamedValue_kFloat) return property.float_value;
    const size_t stated = (property.struct_size + kAlignment - 1) / kAlignment * kAlignment;
    bytes += std::max(sizeof property, stated);
  }
  return std::nullopt;
}

}  // namespace berth
