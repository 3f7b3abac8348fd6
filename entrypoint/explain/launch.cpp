#include "entrypoint/explain/launch.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "entrypoint/flags/flag_rules.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 3> kLauncherModules = {
    "torch.distributed.launch", "torch.distributed.run", "accelerate.commands.launch"};
constexpr std::array<std::string_view, 5> kProcessOptions = {"nproc_per_node", "num_processes",
                                                             "num_gpus", "num_cores", "nproc"};
constexpr std::array<std::string_view, 3> kMachineOptions = {"nnodes", "num_nodes", "num_machines"};
// Options of launchers that take no value. Others take the next word, unless it is an option.
constexpr std::array<std::string_view, 24> kSwitches = {"standalone",
                                                        "use_env",
                                                        "multi_gpu",
                                                        "cpu",
                                                        "tpu",
                                                        "use_deepspeed",
                                                        "use_fsdp",
                                                        "use_megatron_lm",
                                                        "no_python",
                                                        "run_path",
                                                        "quiet",
                                                        "q",
                                                        "debug",
                                                        "same_network",
                                                        "no_local_rank",
                                                        "use_mps_device",
                                                        "u",
                                                        "s",
                                                        "B",
                                                        "E",
                                                        "O",
                                                        "I",
                                                        "v",
                                                        "use_xpu"};
// Commands that may name a script, and start none.
constexpr std::array<std::string_view, 22> kOtherPrograms = {
    "echo", "printf", "wget", "curl", "cp",   "mv",    "rm",    "cat", "chmod", "git", "ls",
    "pip",  "pip3",   "sed",  "grep", "head", "touch", "rsync", "scp", "vim",   "cd",  "source"};
constexpr std::string_view kSplitModel =
    "splits the model between devices; berth keeps all of it on each, which gives the same updates "
    "where it fits";

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Text of a shell, such as "python a.py", is no script, but "My Drive/a.py" is one.
bool is_script(const std::string& word) {
  return is_script_name(word) && last_part(word).find(' ') == std::string_view::npos;
}

bool is_starter(const std::string& word) {
  const std::string_view name = last_part(word);
  return name.starts_with("python") || name == "torchrun" || name == "accelerate" ||
         name == "accelerate-launch" || name == "deepspeed" || name == "berth" || is_script(word);
}

std::string_view launcher_of(std::string_view name) {
  if (name == "torchrun" || name.starts_with("torch.distributed")) return "torchrun";
  if (name.starts_with("accelerate")) return "accelerate";
  return name == "deepspeed" ? name : "";
}

// The kind of device that a variable names to PJRT, JAX or accelerate.
AskedDevice device_named(const std::string& value) {
  const std::string name = lower_ascii(value);
  if (name == "tpu") return AskedDevice::kTpu;
  if (name == "cuda" || name == "gpu") return AskedDevice::kGpu;
  return name == "cpu" ? AskedDevice::kCpu : AskedDevice::kNotSaid;
}

void read_variable(const std::string& name, const std::string& value, Launch& launch) {
  constexpr std::array<std::string_view, 3> kPlatforms = {"PJRT_DEVICE", "JAX_PLATFORMS",
                                                          "JAX_PLATFORM_NAME"};
  constexpr std::array<std::string_view, 6> kOthers = {
      "HIP_VISIBLE_DEVICES",    "ROCR_VISIBLE_DEVICES",    "ASCEND_RT_VISIBLE_DEVICES",
      "HABANA_VISIBLE_DEVICES", "NEURON_RT_VISIBLE_CORES", "ZE_AFFINITY_MASK"};
  const bool is_on = value == "1" || lower_ascii(value) == "true";
  if (is_one_of(kPlatforms, name) && device_named(value) != AskedDevice::kNotSaid) {
    launch.device = device_named(value);
  } else if (is_one_of(kOthers, name)) {
    launch.refuse(name, std::string(kOtherDevices));
  } else if (name == "XRT_TPU_CONFIG") {
    launch.device = AskedDevice::kTpu;
  } else if ((name == "XLA_USE_BF16" || name == "XLA_DOWNCAST_BF16") && is_on) {
    if (launch.device == AskedDevice::kNotSaid) launch.device = AskedDevice::kTpu;
    launch.precision = "bf16";
    launch.precision_word = name;
  } else if (name == "ACCELERATE_USE_CPU" && is_on) {
    launch.device = AskedDevice::kCpu;
  } else if (name == "ACCELERATE_MIXED_PRECISION") {
    launch.precision = value;
    launch.precision_word = name;
  } else if (name == "CUDA_VISIBLE_DEVICES") {
    const bool has_none = value.empty() || value == "-1" || value == "\"\"";
    launch.device = has_none ? AskedDevice::kCpu : AskedDevice::kGpu;
    const bool is_variable = value.find('$') != std::string::npos;
    launch.visible = has_none ? "" : is_variable ? "all" : counted_devices(value);
  }
}

// Reads the options of interpreters and launchers up to the script.
class LaunchReader {
 public:
  LaunchReader(std::span<const std::string> words, Launch launch)
      : words_(words), launch_(std::move(launch)) {}

  std::optional<Launch> read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      const std::string_view launcher = launcher_of(last_part(word));
      if (word == "-m" || word == "--module") {
        if (at_ < words_.size() && starts_module(words_[at_++])) return finished();
      } else if (word.starts_with('-')) {
        read_option(word);
      } else if (is_script(word) && starts_script(word)) {
        return finished();
      } else if (!launcher.empty()) {
        launch_.launcher = launcher;
      }
    }
    return std::nullopt;
  }

 private:
  std::optional<Launch> finished() {
    const auto rest = words_.subspan(at_);
    launch_.flags.assign(rest.begin(), rest.end());
    return std::move(launch_);
  }

  bool starts_module(const std::string& module) {
    if (is_one_of(kLauncherModules, module)) {
      launch_.launcher = launcher_of(module);
      return false;
    }
    if (module.starts_with("intel") && module.ends_with(".launch")) {
      launch_.device = AskedDevice::kCpu;
      return false;
    }
    launch_.path = module;
    launch_.script = module.substr(module.rfind('.') + 1) + ".py";
    return true;
  }

  bool starts_script(const std::string& path) {
    if (last_part(path) == "xla_spawn.py") {
      launch_.device = AskedDevice::kTpu;
      launch_.launcher = "xla_spawn.py";
      return false;
    }
    if (last_part(path) == "gaudi_spawn.py") {
      launch_.launcher = "gaudi_spawn.py";
      launch_.remarks.push_back({"gaudi_spawn.py", std::string(kOtherDevices), true});
      return false;
    }
    launch_.path = path;
    launch_.script = last_part(path);
    return true;
  }

  void read_option(const std::string& word) {
    const size_t equals = word.find('=');
    std::string name = word.substr(0, equals), value;
    name.erase(0, name.find_first_not_of('-'));
    std::ranges::replace(name, '-', '_');
    const bool is_switch = is_one_of(kSwitches, name);
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (!is_switch && at_ < words_.size() && !words_[at_].starts_with('-') &&
               !is_script(words_[at_])) {
      value = words_[at_++];
    }
    take_option(word.substr(0, equals), name, value);
  }

  void take_option(const std::string& typed, const std::string& name, const std::string& value) {
    const bool is_accelerate = launch_.launcher == "accelerate";
    if (is_one_of(kProcessOptions, name)) {
      launch_.processes = value;
      launch_.counts_all = name == "num_processes";  // of accelerate
    }
    if (is_one_of(kMachineOptions, name)) launch_.machines = value;
    if (name == "num_gpus" || name == "multi_gpu") launch_.device = AskedDevice::kGpu;
    if (name == "include" && launch_.launcher == "deepspeed") {
      launch_.processes = counted_devices(value.substr(value.rfind(':') + 1));
    }
    if (name == "autotuning" && launch_.launcher == "deepspeed") {
      launch_.remarks.push_back({typed,
                                 "makes DeepSpeed search for another batch; leave it out and name "
                                 "the batch that it found",
                                 true});
    }
    if (!is_accelerate) return;
    if (name == "cpu") launch_.device = AskedDevice::kCpu;
    if (name == "tpu") launch_.device = AskedDevice::kTpu;
    if (name == "mixed_precision") launch_.precision = value;
    if (name == "config_file") launch_.config_file = value;
    if (name == "gpu_ids" && value != "all" && launch_.processes.empty()) {
      launch_.processes = counted_devices(value);
      launch_.counts_all = true;
      launch_.device = AskedDevice::kGpu;
    }
    if (name.starts_with("use_fsdp") || name.starts_with("use_deepspeed")) {
      launch_.remarks.push_back({typed, std::string(kSplitModel), false});
    }
    if (name == "use_megatron_lm" || name == "use_mps_device" || name == "use_xpu") {
      launch_.remarks.push_back({typed, std::string(kOtherDevices), true});
    }
    if (name == "gradient_accumulation_steps" || name == "gradient_clipping" ||
        name == "deepspeed_config_file") {
      launch_.remarks.push_back({typed,
                                 "is a setting of DeepSpeed, which may change the batch: name its "
                                 "value among the script's own flags, and leave this one out",
                                 true});
    }
  }

  std::span<const std::string> words_;
  size_t at_ = 0;
  Launch launch_;
};

}  // namespace

void Launch::add_flag(std::string_view name, std::string_view value) {
  flags.push_back(cat("--", name, "=", value));
}

void Launch::remark(std::string word, std::string text) {
  remarks.push_back({std::move(word), std::move(text), false});
}

void Launch::refuse(std::string word, std::string text) {
  remarks.push_back({std::move(word), std::move(text), true});
}

bool is_script_name(std::string_view word) {
  return !word.starts_with('-') && (word.ends_with(".py") || word.ends_with(".ipynb"));
}

void read_environment(std::span<const std::string> environment, Launch& launch) {
  for (const std::string& setting : environment) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) continue;  // docker's --env NAME
    read_variable(setting.substr(0, equals), setting.substr(equals + 1), launch);
  }
}

std::optional<Launch> find_launch(std::span<const std::string> words) {
  if (words.empty()) return std::nullopt;
  if (words[0].starts_with("--")) {
    return Launch{.flags = {words.begin(), words.end()}};
  }
  if (is_one_of(kOtherPrograms, last_part(words[0]))) return std::nullopt;
  Launch launch;
  const auto starter = std::ranges::find_if(words, is_starter);
  const auto skipped = static_cast<size_t>(starter - words.begin());
  read_prefix(words.first(skipped), launch);
  if (starter == words.end()) {
    const auto arguments = container_arguments(words);
    if (arguments.empty() || !arguments[0].starts_with("--")) return std::nullopt;
    launch.flags.assign(arguments.begin(), arguments.end());
    return launch;
  }
  if (last_part(*starter) == "berth") {
    launch.is_berth = true;
    launch.flags.assign(starter + 1, words.end());
    const std::string mode = launch.flags.empty() ? "" : mode_of_word(launch.flags[0]);
    if (!mode.empty()) launch.flags[0] = "--mode=" + mode;
    return launch;
  }
  return LaunchReader(words.subspan(skipped), std::move(launch)).read();
}

std::optional<Launch> launch_of(const ShellCommand& command) {
  std::vector<std::string> words = command.words;
  if (!words.empty() && is_one_of(kOtherPrograms, last_part(words[0]))) return std::nullopt;
  const bool is_batch = !command.batch_options.empty() && !words.empty() && words[0][0] != '-';
  if (is_batch) {
    words.insert(words.begin(), command.batch_options.begin(), command.batch_options.end());
  }
  std::optional<Launch> launch = find_launch(words);
  if (!launch) return std::nullopt;
  read_environment(command.earlier_settings, *launch);
  read_environment(command.environment, *launch);
  return launch;
}

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
