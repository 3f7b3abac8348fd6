#include <algorithm>

#include "entrypoint/flags/flag_table.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
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
  using enum FlagGroup;
  return {
      {.name = "world-size",
       .aliases = {"nnodes", "num-machines"},
       .group = kMachine,
       .help = "How many workers train this model together, each a process on a machine of its "
               "own. They share every batch: --batch-size counts the examples of all of them. They "
               "also evaluate, predict and embed together. The default comes from TF_CONFIG, "
               "CLUSTER_SPEC, WORLD_SIZE, PET_NNODES or OMPI_COMM_WORLD_SIZE.",
       .value = optional_integer_value(cluster(&ClusterOptions::size), {1, 4096}),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "what the environment says, else 1"},
      {.name = "rank",
       .aliases = {"node-rank", "machine-rank"},
       .group = kMachine,
       .help = "The number of this worker. Only worker 0 writes to the job directory.",
       .value = optional_integer_value(cluster(&ClusterOptions::rank), {0, 4095}),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "what the environment says (RANK, JOB_COMPLETION_INDEX and others)"},
      {.name = "master-addr",
       .aliases = {"main-process-ip"},
       .group = kMachine,
       .help = "The host name or address of worker 0.",
       .value = text_value("HOST", cluster(&ClusterOptions::leader_host)),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "what the environment says, else worker 0 says so in JOB_DIR"},
      {.name = "master-port",
       .aliases = {"main-process-port"},
       .group = kMachine,
       .help = "The port on which worker 0 listens for the others.",
       .value = optional_integer_value(cluster(&ClusterOptions::leader_port), {1, 65535}),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "what the environment says, else 29500"},
      {.name = "worker-address",
       .aliases = {},
       .group = kMachine,
       .help = "The address under which the other workers reach this one.",
       .value = text_value("HOST", cluster(&ClusterOptions::worker_address)),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "the address of its route to worker 0"},
      {.name = "cluster-secret-file",
       .aliases = {},
       .group = kMachine,
       .help =
           "A file with a secret of at least 16 bytes, by which the workers prove to each other "
           "that they belong to this job. All of them have the same.",
       .value = path_value("FILE", cluster(&ClusterOptions::secret_file)),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "BERTH_CLUSTER_SECRET, else one that worker 0 writes to JOB_DIR if they "
                       "meet there, else none"},
      {.name = "elastic",
       .aliases = {},
       .group = kMachine,
       .help = "If workers are lost, let at least MIN of MAX workers go on without them, from the "
               "last checkpoint. MAX is --world-size. Worker 0 must be among them or come back.",
       .value = elastic_value(),
       .role = {kUnrecorded, kEverywhere},
       .default_text = "all end, to be started again together"},
      {"reduce-dtype",
       {},
       kMachine,
       "The type in which gradients travel between workers. They are summed in fp32. bf16 takes "
       "half of the bytes, and rounds each worker's gradient and the sum.",
       choice_value<DType>(
           place(&CommandLine::settings, &Settings::training, &TrainingOptions::reduce_dtype),
           {{"bf16", DType::kBF16}, {"fp32", DType::kF32}}),
       {kDecides, kEverywhere}},
      {"shard-optimizer",
       {},
       kMachine,
       "Let each of N workers store the optimizer's moments of its share only (ZeRO, stage 1). The "
       "moments then take an N-th of the memory. The updated parameters then travel, too, in fp32. "
       "A resumed job may change it.",
       switch_value(
           place(&CommandLine::settings, &Settings::training, &TrainingOptions::shard_optimizer)),
       {kFree, kEverywhere}},
      {.name = "rendezvous-timeout",
       .aliases = {},
       .group = kMachine,
       .help = "How many seconds a worker waits until the others have started.",
       .value = integer_value(cluster(&ClusterOptions::rendezvous_timeout_s), {1, 86400}),
       .role = {kUnrecorded, kEverywhere}},
      {.name = "peer-timeout",
       .aliases = {},
       .group = kMachine,
       .help = "After how many seconds without a sign of life a worker counts as lost. All others "
               "then end with 11. A slow worker gives signs of life.",
       .value = integer_value(cluster(&ClusterOptions::peer_timeout_s), {2, 3600}),
       .role = {kUnrecorded, kEverywhere}},
  };
}

}  // namespace berth
