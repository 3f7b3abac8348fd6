#include "entrypoint/explain/launch_prefix.h"

#include <algorithm>
#include <array>

#include "storage/base/text.h"

namespace berth {
namespace {

// Options of `docker run` that take no value.
constexpr std::array<std::string_view, 14> kContainerSwitches = {
    "-i",       "-t",          "-it",           "-ti",    "-d",
    "-P",       "--rm",        "--privileged",  "--init", "--read-only",
    "--detach", "--sig-proxy", "--interactive", "--tty"};

bool is_container_program(std::string_view word) {
  const std::string_view name = last_part(word);
  return name == "docker" || name == "podman" || name == "nvidia-docker" || name == "nerdctl";
}

// Goes through options with their values: "--gpus all", "--gpus=all" and "-n4" alike.
class OptionReader {
 public:
  explicit OptionReader(std::span<const std::string> words) : words_(words) {}

  // The next option, with its name without dashes. false: there is none.
  bool next(std::string& name, std::string& value) {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (!word.starts_with('-') || word.size() < 2) continue;
      const size_t equals = word.find('=');
      name = word.substr(0, equals);
      value.clear();
      const bool is_glued =
          !word.starts_with("--") && word.size() > 2 && word[2] >= '0' && word[2] <= '9';  // -n4
      if (is_glued) {
        name = word.substr(0, 2);
        value = word.substr(2);
      } else if (equals != std::string::npos) {
        value = word.substr(equals + 1);
      } else if (at_ < words_.size() && !words_[at_].starts_with('-')) {
        value = words_[at_];
      }
      name.erase(0, name.find_first_not_of('-'));
      std::ranges::replace(name, '_', '-');
      return true;
    }
    return false;
  }

 private:
  std::span<const std::string> words_;
  size_t at_ = 0;
};

// "4" for "gpu:4", "gpu:a100:4" and "a100:4"; "all" where the number is a variable.
std::string last_number(const std::string& value) {
  const size_t colon = value.rfind(':');
  const std::string number = colon == std::string::npos ? value : value.substr(colon + 1);
  if (number.find('$') != std::string::npos) return "all";
  return parse_number(number) ? number : "1";
}

void see_gpus(Launch& launch, std::string count) {
  launch.device = AskedDevice::kGpu;
  launch.visible = std::move(count);
}

void read_container(std::span<const std::string> words, Launch& launch) {
  OptionReader options(words);
  for (std::string name, value; options.next(name, value);) {
    if (name == "gpus") {
      const bool is_list = value.find("device=") != std::string::npos;
      see_gpus(launch, is_list ? counted_devices(value) : value);
    }
    if (name == "runtime" && value == "nvidia") see_gpus(launch, "all");
    if (name == "device" && value.starts_with("/dev/") && !value.starts_with("/dev/nvidia") &&
        !value.starts_with("/dev/dri")) {
      launch.refuse("--device " + value, std::string(kOtherDevices));
    }
    if (name == "env-file") {
      launch.remark("--env-file",
                    "names a file of variables, which is not read here: if one of them says on "
                    "which devices the job trains, put it into the line");
    }
    if (name == "e" || name == "env") {
      const std::string setting[] = {value};
      read_environment(setting, launch);
    }
  }
  if (last_part(words[0]) == "nvidia-docker" && launch.visible.empty()) see_gpus(launch, "all");
}

// The number behind a key such as "num=" in an option's value; "" where there is none.
std::string number_behind(std::string_view value, std::string_view key) {
  const size_t at = value.find(key);
  if (at == value.npos) return "";
  const std::string_view rest = value.substr(at + key.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789")));
}

// bsub -gpu "num=2", qsub -l select=1:ngpus=2, kubectl run --limits=nvidia.com/gpu=2
void read_gpu_option(std::span<const std::string> words, std::string_view option,
                     std::span<const std::string_view> keys, Launch& launch) {
  OptionReader options(words);
  for (std::string name, value; options.next(name, value);) {
    if (name != option) continue;
    for (const std::string_view key : keys) {
      const std::string count = number_behind(value, key);
      if (!count.empty()) return see_gpus(launch, count);
    }
  }
}

// LSF starts a number of resource sets, with tasks and GPUs in each.
void read_jsrun(std::span<const std::string> words, Launch& launch) {
  OptionReader options(words);
  uint64_t sets = 1, tasks = 1;
  for (std::string name, value; options.next(name, value);) {
    if (name == "n" || name == "nrs") sets = parse_number(value).value_or(1);
    if (name == "a" || name == "tasks-per-rs") tasks = parse_number(value).value_or(1);
    if (name == "g" || name == "gpu-per-rs") see_gpus(launch, value);
  }
  constexpr uint64_t kMostTasks = 100'000;
  if (sets > kMostTasks || tasks > kMostTasks || sets * tasks <= 1) return;
  launch.processes = std::to_string(sets * tasks);
  launch.counts_all = true;
  launch.launcher = "jsrun";
}

// Where srun starts the tasks. Otherwise a batch job runs one, on the first of its machines.
void read_slurm(std::span<const std::string> words, bool has_tasks, Launch& launch) {
  OptionReader options(words);
  bool is_started = false;
  for (std::string name, value; options.next(name, value);) {
    const bool is_of_tasks = name == "n" || name.starts_with("ntasks") || name == "N" ||
                             name == "nodes" || name == "tasks-per-node";
    if (is_of_tasks && !has_tasks) continue;
    if (name == "n" || name == "ntasks") {
      launch.processes = value;
      launch.counts_all = is_started = true;
    } else if (name == "N" || name == "nodes") {
      launch.machines = value;
    } else if (name == "ntasks-per-node" || name == "tasks-per-node") {
      launch.processes = value;
      launch.counts_all = false;
      is_started = true;
    } else if (name == "gres" && value.starts_with("gpu")) {
      see_gpus(launch, last_number(value));
    } else if (name == "gpus" || name == "G" || name == "gpus-per-node") {
      see_gpus(launch, last_number(value));
    } else if (name == "gpus-per-task") {
      see_gpus(launch, last_number(value));
    }
  }
  if (is_started) launch.launcher = "srun";
}

void read_mpi(std::span<const std::string> words, Launch& launch) {
  OptionReader options(words);
  for (std::string name, value; options.next(name, value);) {
    if (name == "np" || name == "n" || name == "num-proc") {
      launch.processes = value;
      launch.counts_all = true;
      launch.launcher = "mpirun";
    } else if (name == "H" || name == "host" || name == "hosts") {
      launch.machines = std::to_string(parted(value, ",").size());
    } else if (name == "hostfile" || name == "machinefile" || name == "f") {
      launch.remarks.push_back({"--" + name,
                                "names the machines in a file, which is not read here: berth "
                                "trains on the GPUs of one machine, or on the CPUs of several with "
                                "--world-size",
                                true});
    }
  }
}

}  // namespace

std::string counted_devices(std::string_view list) {
  const size_t equals = list.find("device=");
  if (equals != std::string_view::npos) list.remove_prefix(equals + 7);
  std::string plain(list);
  std::erase_if(plain, [](char c) { return c == '"' || c == '\''; });
  if (plain == "all") return plain;
  const size_t count = parted(plain, ",").size();
  return count == 0 ? "" : std::to_string(count);
}

// Programs that may stand before a script and leave its job as it is, or that are read here.
bool is_known_program(std::string_view word) {
  constexpr std::string_view kPrograms[] = {"docker",
                                            "podman",
                                            "nvidia-docker",
                                            "nerdctl",
                                            "srun",
                                            "sbatch",
                                            "bsub",
                                            "qsub",
                                            "kubectl",
                                            "jsrun",
                                            "mpirun",
                                            "mpiexec",
                                            "mpiexec.hydra",
                                            "horovodrun",
                                            "singularity",
                                            "apptainer",
                                            "gcloud",
                                            "ssh",
                                            "tmux",
                                            "screen",
                                            "env",
                                            "time",
                                            "nohup",
                                            "sudo",
                                            "exec",
                                            "eval",
                                            "nice",
                                            "ionice",
                                            "taskset",
                                            "numactl",
                                            "stdbuf",
                                            "timeout",
                                            "setsid",
                                            "unbuffer",
                                            "xvfb-run",
                                            "conda",
                                            "mamba",
                                            "micromamba",
                                            "poetry",
                                            "uv",
                                            "pipenv",
                                            "pdm",
                                            "rye",
                                            "hatch",
                                            "bash",
                                            "sh",
                                            "zsh",
                                            "do",
                                            "then",
                                            "else",
                                            "if",
                                            "while",
                                            "until",
                                            "sleep",
                                            "ipexrun",
                                            "neuron_parallel_compile",
                                            "run",
                                            "winpty",
                                            "start",
                                            "call",
                                            "ipython",
                                            "py",
                                            "caffeinate",
                                            "nsys",
                                            "ncu",
                                            "nvprof",
                                            "strace",
                                            "gdb",
                                            "coverage",
                                            "pyenv",
                                            "pixi",
                                            "uvx",
                                            "command",
                                            "builtin",
                                            "docker-compose",
                                            "flock",
                                            "chrt",
                                            "chronic",
                                            "catchsegv",
                                            "systemd-run",
                                            "proxychains",
                                            "proxychains4",
                                            "ts"};
  const bool is_word = !word.empty() && ((word[0] >= 'a' && word[0] <= 'z') || word[0] == '.' ||
                                         word[0] == '/' || word[0] == '~');
  return !is_word || std::ranges::find(kPrograms, last_part(word)) != std::end(kPrograms);
}

void read_prefix(std::span<const std::string> words, Launch& launch) {
  if (!words.empty() && !is_known_program(words[0])) {
    launch.refuse(
        words[0],
        "is not known here, and may change what the script does; leave it out of the line "
        "where it changes nothing");
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = last_part(words[i]);
    const auto behind = words.subspan(i);
    if (is_container_program(name)) {
      read_container(behind, launch);
    } else if (name == "srun" || name == "sbatch") {
      const bool has_tasks = std::ranges::any_of(
          behind, [](const std::string& word) { return last_part(word) == "srun"; });
      read_slurm(behind, has_tasks, launch);
    } else if (name == "bsub") {
      constexpr std::string_view kKeys[] = {"num="};
      read_gpu_option(behind, "gpu", kKeys, launch);
    } else if (name == "qsub") {
      constexpr std::string_view kKeys[] = {"gpus=", "gpu="};
      read_gpu_option(behind, "l", kKeys, launch);
    } else if (name == "kubectl") {
      constexpr std::string_view kKeys[] = {"nvidia.com/gpu="};
      read_gpu_option(behind, "limits", kKeys, launch);
    } else if (name == "jsrun") {
      read_jsrun(behind, launch);
    } else if (name == "neuron_parallel_compile") {
      launch.remarks.push_back({std::string(name), std::string(kOtherDevices), true});
    } else if (name == "ipexrun") {
      launch.device = AskedDevice::kCpu;
    } else if (name == "singularity" || name == "apptainer") {
      const bool has_gpus = std::ranges::find(behind, "--nv") != behind.end();
      if (has_gpus && launch.visible.empty()) see_gpus(launch, "all");
    } else if (name == "tpus" || name == "tpu-vm") {  // gcloud compute tpus tpu-vm ssh
      launch.device = AskedDevice::kTpu;
    } else if (name == "mpirun" || name == "mpiexec" || name == "horovodrun" ||
               name == "mpiexec.hydra") {
      read_mpi(behind, launch);
    }
  }
}

std::span<const std::string> container_arguments(std::span<const std::string> words) {
  const auto program = std::ranges::find_if(words, is_container_program);
  if (program == words.end()) return {};
  const auto run = std::find(program, words.end(), "run");
  size_t at = static_cast<size_t>(run - words.begin()) + 1;
  for (; at < words.size() && words[at].starts_with('-'); ++at) {
    const bool is_switch =
        std::ranges::find(kContainerSwitches, words[at]) != kContainerSwitches.end();
    if (!is_switch && words[at].find('=') == std::string::npos) ++at;
  }
  if (at + 1 >= words.size()) return {};
  return words.subspan(at + 1);  // behind the image
}

}  // namespace berth
