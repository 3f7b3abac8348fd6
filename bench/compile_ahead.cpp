// Compiles BERT's training programs for TPUs or GPUs on a machine that has none, and prints the
// compiler's figures for them. A plugin compiles for a described device; only running the program
// needs the device itself.
//
//   compile_ahead PLUGIN TOPOLOGY [PRECISION [MODEL [BATCH [LENGTH [REPLICAS]]]]]
//
// TOPOLOGY is what the plugin calls it: "v5e:2x2" for libtpu, or "h100" for NVIDIA's plugin. MODEL
// is as for step_bench; all texts have LENGTH tokens. The work that berth counts is what
// trainer/model/training_flops.h says. scripts/compile-ahead.sh installs a plugin and runs this.
#include <cstdlib>
#include <string>

#include "bench/bench_table.h"
#include "storage/base/text.h"
#include "trainer/model/benchmark_step.h"
#include "trainer/model/training_flops.h"
#include "trainer/xla/network/programs.h"
#include "trainer/xla/pjrt/api.h"
#include "trainer/xla/pjrt/executable.h"
#include "trainer/xla/pjrt/plugin.h"

namespace berth {
namespace {

// An NVIDIA H100 SXM5 with 80 GB, as its data sheet and the CUDA programming guide describe it, in
// the form of XLA's GpuTargetConfigProto.
constexpr const char* kH100 = R"(
  platform_name: "CUDA"
  device_description_str: "NVIDIA H100 80GB HBM3"
  dnn_version_info { major: 9 minor: 10 patch: 0 }
  gpu_device_info {
    cuda_compute_capability { major: 9 }
    core_count: 132
    fpus_per_core: 128
    clock_rate_ghz: 1.98
    threads_per_warp: 32
    threads_per_block_limit: 1024
    threads_per_core_limit: 2048
    block_dim_limit_x: 2147483647
    block_dim_limit_y: 65535
    block_dim_limit_z: 65535
    registers_per_block_limit: 65536
    registers_per_core_limit: 65536
    shared_memory_per_block: 49152
    shared_memory_per_block_optin: 232448
    shared_memory_per_core: 233472
    l2_cache_size: 52428800
    memory_bandwidth: 3352320000000
    device_memory_size: 85899345920
  })";

PJRT_NamedValue named(const std::string& name, const std::string& value) {
  auto option = pjrt_args<PJRT_NamedValue>(PJRT_NamedValue_STRUCT_SIZE);
  option.name = name.data();
  option.name_size = name.size();
  option.type = PJRT_NamedValue_kString;
  option.string_value = value.data();
  option.value_size = value.size();
  return option;
}

PJRT_TopologyDescription* describe(const PjrtPlugin& plugin, const std::string& name) {
  const bool is_gpu = name == "h100";
  const std::string keys[] = {"target_config", "topology"}, values[] = {kH100, "1x1x1"};
  const PJRT_NamedValue options[] = {named(keys[0], values[0]), named(keys[1], values[1])};
  auto creation = PJRT_ARGS(TopologyDescription_Create);
  creation.topology_name = name.data();
  creation.topology_name_size = is_gpu ? 0 : name.size();
  creation.create_options = options;
  creation.num_options = is_gpu ? 2 : 0;
  return PJRT_CALL(plugin, TopologyDescription_Create, args = creation).topology;
}

PJRT_Executable* compile(const PjrtPlugin& plugin, const PJRT_TopologyDescription* topology,
                         std::string module, const PjrtCompileOptions& options) {
  const std::string proto = serialized(options);
  PJRT_Program code = pjrt_program(module);
  auto compilation = PJRT_ARGS(Compile);
  compilation.topology = topology;
  compilation.program = &code;
  compilation.compile_options = proto.data();
  compilation.compile_options_size = proto.size();
  return PJRT_CALL(plugin, Compile, args = compilation).executable;
}

void print_memory(const PjrtPlugin& plugin, PJRT_Executable* executable) {
  const auto told =
      PJRT_CALL(plugin, Executable_GetCompiledMemoryStats, args.executable = executable);
  constexpr double kMiB = 1 << 20;
  std::printf(
      "  memory, MiB: %.1f of arguments, %.1f of outputs, of which %.1f take the arguments' place, "
      "%.1f while it runs\n",
      static_cast<double>(told.argument_size_in_bytes) / kMiB,
      static_cast<double>(told.output_size_in_bytes) / kMiB,
      static_cast<double>(told.alias_size_in_bytes) / kMiB,
      static_cast<double>(told.temp_size_in_bytes) / kMiB);
}

void print_flops(const PjrtPlugin& plugin, PJRT_Executable* executable, double counted) {
  std::printf("  GFLOP: %.2f as berth counts the products of the model", counted * 1e-9);
  try {
    const auto flops = pjrt_flops(plugin, executable);
    if (flops) std::printf(", %.2f as the compiler counts all operations", *flops * 1e-9);
  } catch (const Error& error) {
    std::printf("; the compiler tells none (%s)", error.problem().c_str());
  }
  std::printf("\n");
}

// One shape: BATCH texts of LENGTH tokens on each replica.
struct Shape {
  std::string model = "tiny";
  int64_t batch = 32, length = 128;
  int replicas = 1;
};

void run(const PjrtPlugin& plugin, const PJRT_TopologyDescription* topology, const Shape& shape,
         DType product_dtype) {
  ProgramOptions options;
  options.config = bert_of_size(shape.model);
  options.product_dtype = product_dtype;
  options.replicas = shape.replicas;
  const std::string text =
      training_program(options,
                       {.rows = shape.batch, .row_length = shape.length, .sequences = shape.batch})
          .text();
  PackedBatch batch;
  batch.input_ids.resize(static_cast<size_t>(shape.batch * shape.length));
  for (int64_t b = 1; b <= shape.batch; ++b)
    batch.cu_seqlens.push_back(static_cast<int32_t>(b * shape.length));

  PJRT_Executable* executable = nullptr;
  const PjrtCompileOptions compile_options{.replicas = shape.replicas, .flags = kProgramFlags};
  const double seconds =
      seconds_of([&] { executable = compile(plugin, topology, text, compile_options); });
  std::printf("%s, %lld x %lld tokens, %s, replicas: %d: compiled in %.1f s\n", shape.model.c_str(),
              static_cast<long long>(shape.batch), static_cast<long long>(shape.length),
              product_dtype == DType::kBF16 ? "bf16" : "fp32", shape.replicas, seconds);
  print_memory(plugin, executable);
  print_flops(plugin, executable, training_flops(options.config).of(batch));
  std::fflush(stdout);
}

}  // namespace
}  // namespace berth

int main(int argc, char** argv) {
  using namespace berth;
  if (argc < 3) {
    std::fprintf(
        stderr,
        "usage: compile_ahead PLUGIN TOPOLOGY [PRECISION [MODEL [BATCH [LENGTH [REPLICAS]]]]]\n");
    return 2;
  }
  int status = 0;
  try {
    const PjrtPlugin plugin(argv[1], 120);
    const DType product_dtype =
        argc > 3 && argv[3] == std::string("bf16") ? DType::kBF16 : DType::kF32;
    Shape shape;
    if (argc > 4) shape.model = argv[4];
    if (argc > 5) shape.batch = std::stoll(argv[5]);
    if (argc > 6) shape.length = std::stoll(argv[6]);
    if (argc > 7) shape.replicas = std::stoi(argv[7]);
    run(plugin, describe(plugin, argv[2]), shape, product_dtype);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compile_ahead: %s\n", error.what());
    status = 1;
  }
  std::fflush(stdout);
  std::_Exit(status);  // libtpu's threads outlive main()
}
