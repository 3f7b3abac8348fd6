// The buffers and programs of the fake plugin; fake_plugin.cpp says what programs there are.
#include "tests/trainer/xla/pjrt/fake_objects.h"
#include "tests/trainer/xla/pjrt/fake_signature.h"

FAKE(Client_BufferFromHostBuffer) {
  size_t bytes = args->type == PJRT_Buffer_Type_PRED   ? 1
                 : args->type == PJRT_Buffer_Type_BF16 ? 2
                                                       : 4;
  for (size_t i = 0; i < args->num_dims; ++i) bytes *= static_cast<size_t>(args->dims[i]);
  const auto* data = static_cast<const std::byte*>(args->data);
  args->buffer = created(
      "buffer",
      new PJRT_Buffer{args->type, {args->dims, args->dims + args->num_dims}, {data, data + bytes}});
  args->done_with_host_buffer = make_event("Client_BufferFromHostBuffer");
  return nullptr;
}
FAKE(Buffer_Destroy) {
  destroyed("buffer", args->buffer);
  return nullptr;
}
FAKE(Buffer_Dimensions) {
  args->dims = args->buffer->dims.data();
  args->num_dims = args->buffer->dims.size();
  return nullptr;
}
FAKE(Buffer_ElementType) {
  args->type = args->buffer->type;
  return nullptr;
}
FAKE(Buffer_ToHostBuffer) {
  if (args->src->is_deleted || args->dst_size != args->src->bytes.size()) return make_error();
  std::memcpy(args->dst, args->src->bytes.data(), args->dst_size);
  args->event = make_event("Buffer_ToHostBuffer");
  return nullptr;
}

static size_t number_in(const std::string& program, const std::string& name) {
  const size_t at = program.find(name + "=");
  return at == program.npos ? 1 : std::stoul(program.substr(at + name.size() + 1));
}

static PJRT_LoadedExecutable* load(PJRT_Client* client, const std::string& program) {
  const auto first = client->pointers.begin();
  const auto count = static_cast<std::ptrdiff_t>(number_in(program, "replicas"));
  return created("loaded", new PJRT_LoadedExecutable{program, {first, first + count}});
}

FAKE(Client_Compile) {
  control.compile_options = {args->compile_options, args->compile_options_size};
  args->executable = load(args->client, {args->program->code, args->program->code_size});
  return nullptr;
}
FAKE(LoadedExecutable_Destroy) {
  destroyed("loaded", args->executable);
  return nullptr;
}
FAKE(LoadedExecutable_GetExecutable) {
  args->executable = created("executable", new PJRT_Executable{args->loaded_executable->program});
  return nullptr;
}
FAKE(LoadedExecutable_AddressableDevices) {
  args->addressable_devices = args->executable->devices.data();
  args->num_addressable_devices = args->executable->devices.size();
  return nullptr;
}
FAKE(Executable_Destroy) {
  destroyed("executable", args->executable);
  return nullptr;
}
FAKE(Executable_NumOutputs) {
  const std::string& program = args->executable->program;
  args->num_outputs =
      is_module(program) ? signature_of(program).outputs.size() : number_in(program, "outputs");
  return nullptr;
}
FAKE(Executable_GetCompiledMemoryStats) {
  args->argument_size_in_bytes = 1000;
  args->output_size_in_bytes = 100;
  args->alias_size_in_bytes = 90;
  args->temp_size_in_bytes = control.temporary_bytes;
  args->generated_code_size_in_bytes = 1;
  return nullptr;
}
FAKE(Executable_GetCostAnalysis) {
  static const PJRT_NamedValue value = [] {
    PJRT_NamedValue property = named("flops", PJRT_NamedValue_kFloat);
    property.float_value = 12;
    return property;
  }();
  args->properties = &value;
  args->num_properties = 1;
  return nullptr;
}
FAKE(Executable_Serialize) {
  auto* owner = created("serialized", new PJRT_SerializedExecutable{args->executable->program});
  args->serialized_bytes = owner->bytes.data();
  args->serialized_bytes_size = owner->bytes.size();
  args->serialized_executable = owner;
  args->serialized_executable_deleter = [](PJRT_SerializedExecutable* object) {
    destroyed("serialized", object);
  };
  return nullptr;
}
FAKE(Executable_DeserializeAndLoad) {
  args->loaded_executable =
      load(args->client, {args->serialized_executable, args->serialized_executable_size});
  return nullptr;
}

FAKE(LoadedExecutable_Execute) {
  const std::string& program = args->executable->program;
  const FakeSignature signature = is_module(program) ? signature_of(program) : FakeSignature();
  const size_t outputs =
      is_module(program) ? signature.outputs.size() : number_in(program, "outputs");
  for (size_t d = 0; d < args->num_devices; ++d) {
    for (size_t i = 0; i < args->num_args; ++i) {
      if (args->argument_lists[d][i]->is_deleted) return make_error();
    }
    for (size_t i = 0; i < outputs; ++i) {
      args->output_lists[d][i] = created(
          "buffer",
          new PJRT_Buffer(is_module(program) ? signature.outputs[i] : *args->argument_lists[d][i]));
    }
    for (size_t i = 0; i < args->num_args; ++i) {
      const bool is_donated =
          is_module(program) ? signature.donated.at(i) : program.starts_with("donate");
      if (is_donated) args->argument_lists[d][i]->is_deleted = true;
    }
    args->device_complete_events[d] = make_event("LoadedExecutable_Execute");
  }
  return nullptr;
}
