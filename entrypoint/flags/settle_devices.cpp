#include "entrypoint/flags/settle_devices.h"

#include <string>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/model/task.h"

namespace berth {
namespace {

// A device, and the flag that asks for it.
struct Wish {
  DeviceKind kind;
  std::string flag;
};

[[noreturn]] void refuse(const std::string& one, const std::string& other) {
  throw Error(Code::kUsage, cat(one, " and ", other, " ask for different devices"), "",
              "leave one of them out");
}

std::string text_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kAuto:
      return "--device auto";
    case DeviceKind::kCpu:
      return "--device cpu";
    case DeviceKind::kTpu:
      return "--device tpu";
    case DeviceKind::kGpu:
      return "--device gpu";
    case DeviceKind::kXlaCpu:
      return "--device xla-cpu";
  }
  return "";
}

// The devices that the flags of TensorFlow ask for. --num-gpus 0 comes last: with a TPU it asks for
// nothing.
std::vector<Wish> wishes(const DeviceOptions& options) {
  std::vector<Wish> found;
  const std::string strategy = "--distribution-strategy ";
  if (options.strategy == Strategy::kTpu) found.push_back({DeviceKind::kTpu, strategy + "tpu"});
  if (options.strategy == Strategy::kGpu) found.push_back({DeviceKind::kGpu, strategy + "gpu"});
  if (!options.tpu.empty()) found.push_back({DeviceKind::kTpu, "--tpu"});
  if (options.num_gpus > 0) {
    found.push_back({DeviceKind::kGpu, cat("--num-gpus ", *options.num_gpus)});
  }
  const bool wants_tpu = !found.empty() && found[0].kind == DeviceKind::kTpu;
  if (options.num_gpus == 0 && !wants_tpu) found.push_back({DeviceKind::kCpu, "--num-gpus 0"});
  return found;
}

DeviceKind chosen_kind(const CommandLine& command_line) {
  const DeviceKind asked = command_line.settings.device;
  const std::vector<Wish> wanted = wishes(command_line.device);
  for (const Wish& wish : wanted) {
    if (wish.kind != wanted[0].kind) refuse(wanted[0].flag, wish.flag);
    const bool is_no_gpu = wish.kind == DeviceKind::kCpu && asked != DeviceKind::kGpu;
    if (asked != DeviceKind::kAuto && asked != wish.kind && !is_no_gpu) {
      refuse(wish.flag, text_of(asked));
    }
  }
  return asked == DeviceKind::kAuto && !wanted.empty() ? wanted[0].kind : asked;
}

int64_t settled_count(const DeviceOptions& options) {
  int64_t count = options.devices;
  const auto also = [&](int64_t other, const std::string& flag) {
    if (count > 0 && count != other) {
      throw Error(Code::kUsage, cat(flag, " asks for ", other, ", and another flag for ", count),
                  "--devices", "leave one of them out");
    }
    count = other;
  };
  if (options.num_gpus > 0) also(*options.num_gpus, "--num-gpus");
  if (options.strategy == Strategy::kOneDevice) also(1, "--distribution-strategy");
  return count;
}

constexpr int64_t kPort = 29500;  // PyTorch's

// Throws kUsage with the flag that one worker alone understands, if there is one.
void require_shared_work(const CommandLine& command_line) {
  const Settings& settings = command_line.settings;
  const auto refuse = [&](const std::string& flag, const std::string& why) {
    throw Error(Code::kUsage, cat(why, ", and there are ", *command_line.cluster.size, " workers"),
                flag, "leave it out, or give --world-size 1");
  };
  if (settings.training.seeds > 1) refuse("--seeds", "several runs are made by one worker");
  const std::optional<Task> task = find_task(settings.data.task);
  if (!task) return;
  if (traits(*task).rows == HeadRows::kGroups) {
    refuse(cat("--task ", task_name(*task)), "the task is trained by one worker");
  }
}

void settle_device_of_workers(CommandLine& command_line) {
  DeviceKind& device = command_line.settings.device;
  if (device == DeviceKind::kAuto) {
    device = DeviceKind::kCpu;
    command_line.notes.push_back("device: CPU, because several workers were asked for");
  }
  if (device == DeviceKind::kCpu) return;
  command_line.settings.training.place.cuts_updates = false;
  command_line.notes.push_back(
      "several workers with TPUs or GPUs are experimental: no such job has been tried");
}

int64_t require_rank(const ClusterOptions& options) {
  if (!options.rank) {
    throw Error(
        Code::kUsage,
        cat("there are ", *options.size, " workers, and nothing says which of them this one is"),
        "--rank", "give each worker a number from 0 on");
  }
  if (*options.rank < *options.size) return *options.rank;
  throw Error(Code::kUsage,
              cat("is ", *options.rank, ", and the ", *options.size,
                  " workers have the numbers 0 to ", *options.size - 1),
              "--rank", "give each worker a number of its own");
}

}  // namespace

void settle_device(CommandLine& command_line) {
  command_line.settings.device = chosen_kind(command_line);
  command_line.device.devices = settled_count(command_line.device);
}

void settle_cluster(CommandLine& command_line, const ClusterPlace& platform) {
  ClusterOptions& options = command_line.cluster;
  const ModeTraits& mode = traits(command_line.settings.mode);
  if (command_line.parent_process > 0 || !(mode.trains() || mode.runs_finished_model())) {
    options.size = 1;
    return;
  }
  if (!options.size) {
    if (!platform.other_role.empty()) {
      throw Error(Code::kUsage,
                  cat("the environment makes this process a ", quoted(platform.other_role),
                      ", and berth has only workers that train"),
                  "", "start the chief and the workers alone");
    }
    options.size = options.most > 0 ? options.most : platform.size;
  }
  if (options.most > 0 && options.most != options.size) {
    throw Error(Code::kUsage,
                cat("names ", options.most, " workers, and --world-size ", *options.size),
                "--elastic", "leave --world-size out");
  }
  if (options.size.value_or(1) == 1) return;
  options.secret = platform.secret;
  if (!options.rank) options.rank = platform.rank;
  if (options.leader_host.empty()) options.leader_host = platform.leader_host;
  if (!options.leader_port) options.leader_port = platform.leader_port;
  if (!options.leader_port && !options.leader_host.empty()) options.leader_port = kPort;
  const int64_t rank = require_rank(options);
  if (mode.trains()) {
    command_line.settings.training.place = {.rank = rank, .size = *options.size};
    require_shared_work(command_line);
  }
  settle_device_of_workers(command_line);
  if (options.leader_host.empty() && command_line.settings.output.job_dir.empty()) {
    throw Error(Code::kUsage, "nothing says how the workers find worker 0", "--master-addr",
                "give all of them its address, or a --job-dir that they share");
  }
}

}  // namespace berth
