#include <algorithm>

#include "entrypoint/flags/flag_table.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

FlagValue precision_value() {
  FlagValue value = choice_value<Precision>(place(&CommandLine::settings, &Settings::precision),
                                            {{"auto", Precision::kAuto},
                                             {"fp32", Precision::kFp32},
                                             {"bf16", Precision::kBf16},
                                             {"int8", Precision::kInt8}});
  value.set = [set = value.set](CommandLine& line, std::string_view given) {
    const std::string word = lower_ascii(given);
    if (word == "float32") return set(line, "fp32");
    if (word == "bfloat16") return set(line, "bf16");
    if (word != "fp16" && word != "float16") return set(line, given);
    line.notes.push_back(
        "--precision fp16 is not available; auto is used instead, which means bf16 if the device "
        "multiplies it, and fp32 if not");
    set(line, "auto");
  };
  return value;
}

// expand_flag_files() has replaced the flag before values are set.
FlagValue flag_file_value() {
  return {"FILE", false, [](CommandLine&, std::string_view) {},
          [](const CommandLine&) { return std::string(); }};
}

}  // namespace

std::vector<Flag> machine_flags() {
  using enum Effect;
  return {
      {"precision, dtype",
       "The type of the factors in matrix products, and of the activations that are stored for "
       "the backward pass. Sums, statistics and the optimizer always use fp32. auto means bf16 on "
       "TPUs, on GPUs and on a CPU that multiplies it (AMX, AVX512_BF16), and fp32 elsewhere. "
       "Without this flag, --mode embed uses fp32, and a resumed job uses its first precision. "
       "int8 is for --mode predict, eval and embed on CPUs, where it is faster than fp32; eval "
       "shows its cost in accuracy.",
       precision_value(),
       {kDecides, kEverywhere}},
      {"threads, num-threads",
       "How many threads to compute with.",
       integer_value(place(&CommandLine::settings, &Settings::threads), {0, 1024}),
       {kFree, kEverywhere | kInExport | kInPrepare | kInConvert | kInTrainTokenizer | kInBench,
        kOwnToWorker},
       "one for each CPU that the job may use"},
      {"profile",
       "Record the work of the threads in N updates, print the ten largest costs, and write "
       "JOB_DIR/profile.pftrace, which ui.perfetto.dev shows. 0 records nothing.",
       integer_value(place(&CommandLine::profiled_updates), {0, 1000}),
       {kUnrecorded, kEverywhere}},
      {"price-per-hour",
       "The price of this machine for an hour, in any currency. The end of a training and --mode "
       "bench then give the price of an epoch.",
       optional_real_value(place(&CommandLine::price_per_hour), {0, 1e9, true, true, "a price"}),
       {kUnrecorded, kEverywhere | kInBench},
       "not known"},
      {"dry-run",
       "Do everything that comes before the first update, print the size of the job and the "
       "memory that it needs, and stop.",
       switch_value(place(&CommandLine::dry_run)),
       {kUnrecorded, kEverywhere}},
      {"flagfile",
       "Take the flags in this local file, one a line as --name=value, as if they stood in place "
       "of this flag.",
       flag_file_value(),
       {kUnrecorded, kInEachMode}},
      {"help",
       "Print this help and exit; also -h.",
       switch_value(place(&CommandLine::help)),
       {kUnrecorded, kInEachMode}},
      {"version",
       "Print the version and exit.",
       switch_value(place(&CommandLine::version)),
       {kUnrecorded, kInEachMode}},
  };
}

std::vector<Flag> hidden_flags() {
  using enum Effect;
  return {
      {"help-markdown",
       "Print the flag tables of docs/flags.md and exit.",
       switch_value(place(&CommandLine::help_markdown)),
       {kUnrecorded, kInEachMode}},
      {"help-json",
       "Print the flag table for programs, as one JSON object, and exit.",
       switch_value(place(&CommandLine::help_json)),
       {kUnrecorded, kInEachMode}},
      {"instruction-set",
       "Compute without the CPU instructions above these, for tests: baseline, avx2 or avx512 "
       "(with AVX512_BF16, without AMX).",
       text_value("NAME", place(&CommandLine::highest_instruction_set)),
       {kUnrecorded, kEverywhere}},
      {"memory-limit",
       "The most bytes of memory that a training may use, for a process beside another.",
       integer_value(place(&CommandLine::memory_limit), {0, INT64_MAX}),
       {kUnrecorded, kEverywhere}},
      {"owner-process",
       "Stop as after SIGTERM when this process ends, which must have started the program.",
       integer_value(place(&CommandLine::owner_process), {0, INT32_MAX}),
       {kUnrecorded, kInEachMode}},
      {"parent-process",
       "End when this process does, and leave its termination message alone.",
       integer_value(place(&CommandLine::parent_process), {0, INT32_MAX}),
       {kUnrecorded, kInEachMode}},
  };
}

namespace {

auto device(auto member) { return place(&CommandLine::device, member); }

// The names of TensorFlow's strategies, as its tutorials and other trainers write them.
FlagValue strategy_value() {
  FlagValue value = choice_value<Strategy>(device(&DeviceOptions::strategy),
                                           {{"mirrored", Strategy::kAny},
                                            {"one_device", Strategy::kOneDevice},
                                            {"tpu", Strategy::kTpu},
                                            {"gpu", Strategy::kGpu},
                                            {"off", Strategy::kOneDevice}});
  value.hint = "NAME";
  value.set = [set = value.set](CommandLine& line, std::string_view given) {
    std::string word = lower_ascii(given);
    std::erase(word, '_');
    std::erase(word, '-');
    if (word.ends_with("strategy")) word.erase(word.size() - 8);
    if (word == "onedevice") return set(line, "one_device");
    if (word == "multiworkermirrored" || word == "parameterserver") {
      line.notes.push_back(cat("--distribution-strategy ", given,
                               " is for several machines, which berth takes from --world-size or "
                               "the environment (TF_CONFIG and others)"));
      return set(line, "mirrored");
    }
    set(line, word == "mirrored" || word == "tpu" ? word : std::string(given));
  };
  return value;
}

}  // namespace

std::vector<Flag> device_flags() {
  using enum Effect;
  return {
      {"device",
       "The device that computes. auto takes a TPU, else a GPU, else the CPU. xla-cpu runs the "
       "programs for TPUs and GPUs on the CPU, through a plugin, for comparison; it is slower "
       "than cpu.",
       choice_value<DeviceKind>(place(&CommandLine::settings, &Settings::device),
                                {{"auto", DeviceKind::kAuto},
                                 {"cpu", DeviceKind::kCpu},
                                 {"tpu", DeviceKind::kTpu},
                                 {"gpu", DeviceKind::kGpu},
                                 {"xla-cpu", DeviceKind::kXlaCpu}}),
       {kFree, kEverywhere | kInBench}},
      {"devices",
       "How many TPUs or GPUs of this machine share the work of every batch.",
       integer_value(device(&DeviceOptions::devices), {1, 1024}),
       {kUnrecorded, kEverywhere | kInBench},
       "all; one for xla-cpu"},
      {"pjrt-plugin",
       "The PJRT plugin that drives the device: a shared library, such as libtpu.so.",
       path_value("FILE", device(&DeviceOptions::plugin)),
       {kUnrecorded, kEverywhere | kInBench},
       "found where it is usually installed"},
      {"dropout-generator",
       "The generator of dropout's random numbers on TPUs and GPUs. philox drops the same "
       "elements as the CPU does. threefry needs no 64-bit products, which are slow on some "
       "devices.",
       choice_value<DropoutGenerator>(
           device(&DeviceOptions::generator),
           {{"philox", DropoutGenerator::kPhilox}, {"threefry", DropoutGenerator::kThreefry}}),
       {kUnrecorded, kEverywhere}},
      {"distribution-strategy",
       "TensorFlow's name for the devices: tpu and gpu mean --device tpu and gpu, one_device and "
       "off mean --devices 1, and mirrored means all devices.",
       strategy_value(),
       {kUnrecorded, kEverywhere},
       "mirrored"},
      {"tpu, tpu-name, tpu-address",
       "Means --device tpu, whatever the name. berth uses the TPU of the machine on which it runs.",
       text_value("NAME", device(&DeviceOptions::tpu)),
       {kUnrecorded, kEverywhere}},
      {"num-gpus",
       "Means --device gpu and --devices N; 0 means --device cpu.",
       optional_integer_value(device(&DeviceOptions::num_gpus), {0, 1024}),
       {kUnrecorded, kEverywhere}},
  };
}

namespace {

auto cluster(auto member) { return place(&CommandLine::cluster, member); }

// MIN:MAX
FlagValue elastic_value() {
  return {"MIN:MAX", false,
          [](CommandLine& line, std::string_view given) {
            const size_t colon = std::min(given.find(':'), given.size());
            const auto least = parse_number(given.substr(0, colon));
            const auto most = parse_number(given.substr(std::min(colon + 1, given.size())));
            constexpr uint64_t kMost = 4096;
            if (!least || !most || *least < 1 || *most < *least || *most > kMost) {
              throw Error(Code::kUsage, cat(quoted(given), " is not two numbers of workers"), "",
                          "write the smallest and the largest, such as 2:4");
            }
            line.cluster.least = static_cast<int64_t>(*least);
            line.cluster.most = static_cast<int64_t>(*most);
          },
          [](const CommandLine& line) {
            return line.cluster.least == 0 ? std::string()
                                           : cat(line.cluster.least, ":", line.cluster.most);
          }};
}

}  // namespace

std::vector<Flag> cluster_flags() {
  using enum Effect;
  return {
      {"world-size, nnodes, num-machines",
       "How many workers train this model together, each a process on a machine of its own. They "
       "share every batch: --batch-size counts the examples of all of them. They also evaluate, "
       "predict and embed together. The default comes from TF_CONFIG, CLUSTER_SPEC, WORLD_SIZE, "
       "PET_NNODES or OMPI_COMM_WORLD_SIZE.",
       optional_integer_value(cluster(&ClusterOptions::size), {1, 4096}),
       {kUnrecorded, kEverywhere},
       "what the environment says, else 1"},
      {"rank, node-rank, machine-rank",
       "The number of this worker. Only worker 0 writes to the job directory.",
       optional_integer_value(cluster(&ClusterOptions::rank), {0, 4095}),
       {kUnrecorded, kEverywhere},
       "what the environment says (RANK, JOB_COMPLETION_INDEX and others)"},
      {"master-addr, main-process-ip",
       "The host name or address of worker 0.",
       text_value("HOST", cluster(&ClusterOptions::leader_host)),
       {kUnrecorded, kEverywhere},
       "what the environment says, else worker 0 says so in JOB_DIR"},
      {"master-port, main-process-port",
       "The port on which worker 0 listens for the others.",
       optional_integer_value(cluster(&ClusterOptions::leader_port), {1, 65535}),
       {kUnrecorded, kEverywhere},
       "what the environment says, else 29500"},
      {"worker-address",
       "The address under which the other workers reach this one.",
       text_value("HOST", cluster(&ClusterOptions::worker_address)),
       {kUnrecorded, kEverywhere},
       "the address of its route to worker 0"},
      {"cluster-secret-file",
       "A file with a secret of at least 16 bytes, by which the workers prove to each other that "
       "they belong to this job. All of them have the same.",
       path_value("FILE", cluster(&ClusterOptions::secret_file)),
       {kUnrecorded, kEverywhere},
       "BERTH_CLUSTER_SECRET, else one that worker 0 writes to JOB_DIR if they meet there, else "
       "none"},
      {"elastic",
       "If workers are lost, let at least MIN of MAX workers go on without them, from the last "
       "checkpoint. MAX is --world-size. Worker 0 must be among them or come back.",
       elastic_value(),
       {kUnrecorded, kEverywhere},
       "all end, to be started again together"},
      {"reduce-dtype",
       "The type in which gradients travel between workers. They are summed in fp32. bf16 takes "
       "half of the bytes, and rounds each worker's gradient and the sum.",
       choice_value<DType>(
           place(&CommandLine::settings, &Settings::training, &TrainingOptions::reduce_dtype),
           {{"bf16", DType::kBF16}, {"fp32", DType::kF32}}),
       {kDecides, kEverywhere}},
      {"shard-optimizer",
       "Let each of N workers store the optimizer's moments of its share only (ZeRO, stage 1). "
       "The moments then take an N-th of the memory. The updated parameters then travel, too, in "
       "fp32. A resumed job may change it.",
       switch_value(
           place(&CommandLine::settings, &Settings::training, &TrainingOptions::shard_optimizer)),
       {kFree, kEverywhere}},
      {"rendezvous-timeout",
       "How many seconds a worker waits until the others have started.",
       integer_value(cluster(&ClusterOptions::rendezvous_timeout_s), {1, 86400}),
       {kUnrecorded, kEverywhere}},
      {"peer-timeout",
       "After how many seconds without a sign of life a worker counts as lost. All others then "
       "end with 11. A slow worker gives signs of life.",
       integer_value(cluster(&ClusterOptions::peer_timeout_s), {2, 3600}),
       {kUnrecorded, kEverywhere}},
  };
}

}  // namespace berth
