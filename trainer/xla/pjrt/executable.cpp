#include "trainer/xla/pjrt/executable.h"

#include <utility>
#include <variant>

#include "storage/base/error.h"
#include "trainer/xla/pjrt/api.h"

namespace berth {

PjrtExecutable PjrtExecutable::compile(const PjrtClient& client, std::string_view program,
                                       const PjrtCompileOptions& options) {
  constexpr std::string_view kFormat = "mlir";
  const std::string proto = serialized(options);
  auto code = pjrt_args<PJRT_Program>(PJRT_Program_STRUCT_SIZE);
  code.code = const_cast<char*>(program.data());  // only read
  code.code_size = program.size();
  code.format = kFormat.data();
  code.format_size = kFormat.size();
  auto args = PJRT_ARGS(Client_Compile);
  args.client = client.handle();
  args.program = &code;
  args.compile_options = proto.data();
  args.compile_options_size = proto.size();
  PJRT_CALL(client.api(), Client_Compile, args);
  return {client, args.executable};
}

PjrtExecutable PjrtExecutable::load(const PjrtClient& client, std::string_view serialized) {
  auto args = PJRT_ARGS(Executable_DeserializeAndLoad);
  args.client = client.handle();
  args.serialized_executable = serialized.data();
  args.serialized_executable_size = serialized.size();
  try {
    PJRT_CALL(client.api(), Executable_DeserializeAndLoad, args);
  } catch (const Error& error) {
    if (error.code() == Code::kMemory || error.code() == Code::kUsage) throw;
    throw Error(Code::kCorrupt, error.problem(), error.where(), "compile the program again");
  }
  return {client, args.loaded_executable};
}

PjrtExecutable::PjrtExecutable(const PjrtClient& client, PJRT_LoadedExecutable* loaded)
    : client_(&client), loaded_(loaded) {
  try {
    auto executable = PJRT_ARGS(LoadedExecutable_GetExecutable);
    executable.loaded_executable = loaded_;
    PJRT_CALL(client_->api(), LoadedExecutable_GetExecutable, executable);
    executable_ = executable.executable;

    auto outputs = PJRT_ARGS(Executable_NumOutputs);
    outputs.executable = executable_;
    PJRT_CALL(client_->api(), Executable_NumOutputs, outputs);
    outputs_ = outputs.num_outputs;

    auto devices = PJRT_ARGS(LoadedExecutable_AddressableDevices);
    devices.executable = loaded_;
    PJRT_CALL(client_->api(), LoadedExecutable_AddressableDevices, devices);
    for (size_t i = 0; i < devices.num_addressable_devices; ++i) {
      for (const PjrtDevice& device : client_->devices()) {
        if (device.handle == devices.addressable_devices[i]) device_ids_.push_back(device.id);
      }
    }
  } catch (...) {
    release();
    throw;
  }
}

PjrtExecutable::~PjrtExecutable() { release(); }

void PjrtExecutable::release() noexcept {
  if (executable_ != nullptr) {
    auto args = PJRT_ARGS(Executable_Destroy);
    args.executable = std::exchange(executable_, nullptr);
    PJRT_DESTROY(client_->api(), Executable_Destroy, args);
  }
  if (loaded_ != nullptr) {
    auto args = PJRT_ARGS(LoadedExecutable_Destroy);
    args.executable = std::exchange(loaded_, nullptr);
    PJRT_DESTROY(client_->api(), LoadedExecutable_Destroy, args);
  }
}

PjrtExecutable::PjrtExecutable(PjrtExecutable&& other) noexcept
    : client_(other.client_),
      loaded_(std::exchange(other.loaded_, nullptr)),
      executable_(std::exchange(other.executable_, nullptr)),
      outputs_(other.outputs_),
      device_ids_(std::move(other.device_ids_)) {}

PjrtExecutable& PjrtExecutable::operator=(PjrtExecutable&& other) noexcept {
  if (this == &other) return *this;
  release();
  client_ = other.client_;
  loaded_ = std::exchange(other.loaded_, nullptr);
  executable_ = std::exchange(other.executable_, nullptr);
  outputs_ = other.outputs_;
  device_ids_ = std::move(other.device_ids_);
  return *this;
}

std::string PjrtExecutable::serialize() const {
  auto args = PJRT_ARGS(Executable_Serialize);
  args.executable = executable_;
  PJRT_CALL(client_->api(), Executable_Serialize, args);
  struct Owner {
    PJRT_Executable_Serialize_Args& args;
    ~Owner() { args.serialized_executable_deleter(args.serialized_executable); }
  } const owner{args};
  return {args.serialized_bytes, args.serialized_bytes_size};
}

PjrtResults PjrtExecutable::execute(std::span<const PjrtArguments> arguments,
                                    std::span<const int64_t> keep) const {
  const size_t replicas = arguments.size();
  if (replicas == 0 || replicas != device_ids_.size()) {
    throw Error(Code::kInternal,
                "a program of " + std::to_string(device_ids_.size()) +
                    " replicas was given arguments for " + std::to_string(replicas),
                client_->api().plugin());
  }
  const size_t count = arguments[0].size();
  std::vector<PJRT_Buffer*> inputs, results(replicas * outputs_);
  for (const PjrtArguments& of_replica : arguments) {
    if (of_replica.size() != count) {
      throw Error(Code::kInternal, "replicas have different numbers of arguments",
                  client_->api().plugin());
    }
    for (const PjrtBuffer* buffer : of_replica) inputs.push_back(buffer->handle());
  }
  std::vector<PJRT_Buffer* const*> input_lists;
  std::vector<PJRT_Buffer**> result_lists;
  for (size_t r = 0; r < replicas; ++r) {
    input_lists.push_back(inputs.data() + r * count);
    result_lists.push_back(results.data() + r * outputs_);
  }
  std::vector<PJRT_Event*> events(replicas);

  auto options = pjrt_args<PJRT_ExecuteOptions>(PJRT_ExecuteOptions_STRUCT_SIZE);
  options.non_donatable_input_indices = keep.data();
  options.num_non_donatable_input_indices = keep.size();
  auto args = PJRT_ARGS(LoadedExecutable_Execute);
  args.executable = loaded_;
  args.options = &options;
  args.argument_lists = input_lists.data();
  args.num_devices = replicas;
  args.num_args = count;
  args.output_lists = result_lists.data();
  args.device_complete_events = events.data();
  PJRT_CALL(client_->api(), LoadedExecutable_Execute, args);

  PjrtResults out;
  out.outputs.resize(replicas);
  for (size_t r = 0; r < replicas; ++r) {
    for (size_t i = 0; i < outputs_; ++i) {
      out.outputs[r].emplace_back(client_->api(), result_lists[r][i]);
    }
    out.done.emplace_back(client_->api(), events[r]);
  }
  return out;
}

std::optional<PjrtProgramMemory> PjrtExecutable::memory() const {
  if (!client_->api().has(&PJRT_Api::PJRT_Executable_GetCompiledMemoryStats)) return std::nullopt;
  auto args = PJRT_ARGS(Executable_GetCompiledMemoryStats);
  args.executable = executable_;
  try {
    PJRT_CALL(client_->api(), Executable_GetCompiledMemoryStats, args);
  } catch (const Error&) {
    return std::nullopt;
  }
  return PjrtProgramMemory{.arguments = args.argument_size_in_bytes,
                           .outputs = args.output_size_in_bytes,
                           .aliased = args.alias_size_in_bytes,
                           .temporary = args.temp_size_in_bytes,
                           .code = args.generated_code_size_in_bytes};
}

std::optional<double> PjrtExecutable::flops() const {
  if (!client_->api().has(&PJRT_Api::PJRT_Executable_GetCostAnalysis)) return std::nullopt;
  auto args = PJRT_ARGS(Executable_GetCostAnalysis);
  args.executable = executable_;
  try {
    PJRT_CALL(client_->api(), Executable_GetCostAnalysis, args);
  } catch (const Error&) {
    return std::nullopt;
  }
  for (const PjrtNamedValue& property : from_plugin(args.properties, args.num_properties)) {
    const auto* value = std::get_if<float>(&property.value);
    if (property.name == "flops" && value != nullptr) return *value;
  }
  return std::nullopt;
}

}  // namespace berth
