#include "entrypoint/explain/launch.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "entrypoint/flags/flag_rules.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using Words = std::span<const std::string>;

constexpr std::string_view kOtherDevices =
    "has no counterpart; berth trains on CPUs, TPUs and GPUs of NVIDIA";
constexpr std::string_view kIpexRun = "ipexrun";
constexpr std::string_view kSplitModel =
    "splits the model between devices; berth keeps all of it on each, which gives the same updates "
    "where it fits";

// "--nproc-per-node=8", cut at its "=".
struct Option {
  std::string name;                    // without its dashes, and with `_` for `-`: "nproc_per_node"
  std::optional<std::string> value{};  // behind the "="
};

Option cut_option(const std::string& word) {
  const size_t equals = word.find('=');
  Option option{.name = word.substr(0, equals)};
  option.name.erase(0, option.name.find_first_not_of('-'));
  std::ranges::replace(option.name, '-', '_');
  if (equals != std::string::npos) option.value = word.substr(equals + 1);
  return option;
}

// The number of items in a list of devices such as "0,1,3" or "device=0,1"; "" where it has none.
std::string counted_devices(std::string_view list) {
  const size_t equals = list.find("device=");
  if (equals != std::string_view::npos) list.remove_prefix(equals + 7);
  std::string plain(list);
  std::erase_if(plain, [](char c) { return c == '"' || c == '\''; });
  if (plain == "all") return plain;
  const size_t count = parted(plain, ",").size();
  return count == 0 ? "" : std::to_string(count);
}

// The kind of device that a variable names to PJRT, JAX or accelerate.
AskedDevice device_named(const std::string& value) {
  const std::string name = lower_ascii(value);
  if (name == "tpu") return AskedDevice::kTpu;
  if (name == "cuda" || name == "gpu") return AskedDevice::kGpu;
  return name == "cpu" ? AskedDevice::kCpu : AskedDevice::kNotSaid;
}

void read_variable(const std::string& name, const std::string& value, Launch& launch) {
  const auto variable = std::ranges::find(kDeviceVariables, name, &DeviceVariable::name);
  if (variable == std::end(kDeviceVariables)) return;
  const bool is_on = value == "1" || lower_ascii(value) == "true";
  switch (variable->meaning) {
    case VariableMeaning::kVisibleGpus: {
      const bool has_none =
          value.empty() || value == "-1" || value == "\"\"" || value == "none" || value == "void";
      const bool is_variable = value.find('$') != std::string::npos;
      const std::string count = has_none ? "0" : is_variable ? "all" : counted_devices(value);
      return name == "CUDA_VISIBLE_DEVICES" || has_none ? launch.mask_gpus(count)
                                                        : launch.see_gpus(count);
    }
    case VariableMeaning::kPlatform:
      if (device_named(value) != AskedDevice::kNotSaid) launch.device = device_named(value);
      return;
    case VariableMeaning::kTpu:
      launch.device = AskedDevice::kTpu;
      return;
    case VariableMeaning::kBf16OfTpu:
      if (!is_on) return;
      if (launch.device == AskedDevice::kNotSaid) launch.device = AskedDevice::kTpu;
      launch.precision = "bf16";
      launch.precision_word = name;
      return;
    case VariableMeaning::kCpu:
      if (is_on) launch.device = AskedDevice::kCpu;
      return;
    case VariableMeaning::kPrecision:
      launch.precision = value;
      launch.precision_word = name;
      return;
    case VariableMeaning::kOtherDevices:
      return launch.refuse(name, kOtherDevices);
  }
}

// Reads the settings of variables in front of a command, such as CUDA_VISIBLE_DEVICES=0,1.
void read_environment(Words environment, Launch& launch) {
  for (const std::string& setting : environment) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) continue;  // docker's --env NAME
    read_variable(setting.substr(0, equals), setting.substr(equals + 1), launch);
  }
}

// Goes through options with their values: "--gpus all", "--gpus=all" and "-n4" alike.
class OptionReader {
 public:
  explicit OptionReader(Words words) : words_(words) {}

  // The next option, with its name without dashes. false: there is none.
  bool next(std::string& name, std::string& value) {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (!word.starts_with('-') || word.size() < 2) continue;
      const bool is_glued =
          !word.starts_with("--") && word.size() > 2 && word[2] >= '0' && word[2] <= '9';  // -n4
      if (is_glued) {
        name = word[1];
        value = word.substr(2);
        return true;
      }
      const Option option = cut_option(word);
      const bool has_word = at_ < words_.size() && !words_[at_].starts_with('-');
      name = option.name;
      value = option.value.value_or(has_word ? words_[at_] : "");
      return true;
    }
    return false;
  }

 private:
  Words words_;
  size_t at_ = 0;
};

void read_container(Words words, Launch& launch) {
  OptionReader options(words);
  for (std::string name, value; options.next(name, value);) {
    if (name == "gpus") {
      const bool is_list = value.find("device=") != std::string::npos;
      launch.see_gpus(is_list ? counted_devices(value) : value);
    }
    if (name == "runtime" && value == "nvidia") launch.see_gpus("all");
    if (name == "device" && value.starts_with("/dev/") && !value.starts_with("/dev/nvidia") &&
        !value.starts_with("/dev/dri")) {
      launch.refuse("--device " + value, kOtherDevices);
    }
    if (name == "env_file") {
      launch.remark("--env-file",
                    "names a file of variables, which is not read here: if one of them says on "
                    "which devices the job trains, put it into the line");
    }
    if (name == "e" || name == "env") {
      const std::string setting[] = {value};
      read_environment(setting, launch);
    }
  }
  if (last_part(words[0]) == "nvidia-docker" && launch.visible.empty()) launch.see_gpus("all");
}

// The number behind a key such as "num=" in an option's value; "" where there is none.
std::string number_behind(std::string_view value, std::string_view key) {
  const size_t at = value.find(key);
  if (at == value.npos) return "";
  const std::string_view rest = value.substr(at + key.size());
  return std::string(rest.substr(0, rest.find_first_not_of("0123456789")));
}

// bsub -gpu "num=2", qsub -l select=1:ngpus=2, kubectl run --limits=nvidia.com/gpu=2
void read_gpu_option(Words words, std::string_view option,
                     std::initializer_list<std::string_view> keys, Launch& launch) {
  OptionReader options(words);
  for (std::string name, value; options.next(name, value);) {
    if (name != option) continue;
    for (const std::string_view key : keys) {
      const std::string count = number_behind(value, key);
      if (!count.empty()) return launch.see_gpus(count);
    }
  }
}

// LSF starts a number of resource sets, with tasks and GPUs in each.
void read_jsrun(Words words, Launch& launch) {
  OptionReader options(words);
  uint64_t sets = 1, tasks = 1;
  for (std::string name, value; options.next(name, value);) {
    if (name == "n" || name == "nrs") sets = parse_number(value).value_or(1);
    if (name == "a" || name == "tasks_per_rs") tasks = parse_number(value).value_or(1);
    if (name == "g" || name == "gpu_per_rs") launch.see_gpus(value);
  }
  constexpr uint64_t kMostTasks = 100'000;
  if (sets > kMostTasks || tasks > kMostTasks || sets * tasks <= 1) return;
  launch.processes = std::to_string(sets * tasks);
  launch.counts_all = true;
  launch.launcher = "jsrun";
}

// "4" for "gpu:4", "gpu:a100:4" and "a100:4"; "all" where the number is a variable.
std::string last_number(const std::string& value) {
  const size_t colon = value.rfind(':');
  const std::string number = colon == std::string::npos ? value : value.substr(colon + 1);
  if (number.find('$') != std::string::npos) return "all";
  return parse_number(number) ? number : "1";
}

// Where srun starts the tasks. Otherwise a batch job runs one, on the first of its machines.
void read_slurm(Words words, Launch& launch) {
  const bool has_tasks =
      std::ranges::any_of(words, [](const std::string& word) { return last_part(word) == "srun"; });
  OptionReader options(words);
  bool is_started = false;
  for (std::string name, value; options.next(name, value);) {
    const bool is_of_tasks = name == "n" || name.starts_with("ntasks") || name == "N" ||
                             name == "nodes" || name == "tasks_per_node";
    if (is_of_tasks && !has_tasks) continue;
    if (name == "n" || name == "ntasks") {
      launch.processes = value;
      launch.counts_all = is_started = true;
    } else if (name == "N" || name == "nodes") {
      launch.machines = value;
    } else if (name == "ntasks_per_node" || name == "tasks_per_node") {
      launch.processes = value;
      launch.counts_all = false;
      is_started = true;
    } else if (name == "gpus" || name == "G" || name == "gpus_per_node" ||
               name == "gpus_per_task" || (name == "gres" && value.starts_with("gpu"))) {
      launch.see_gpus(last_number(value));
    }
  }
  if (is_started) launch.launcher = "srun";
}

void read_mpi(Words words, Launch& launch) {
  OptionReader options(words);
  std::string of_machine;
  for (std::string name, value; options.next(name, value);) {
    if (name == "np" || name == "n" || name == "num_proc") {
      launch.processes = value;
      launch.counts_all = true;
      launch.launcher = "mpirun";
    } else if (name == "H" || name == "host" || name == "hosts") {
      launch.machines = std::to_string(parted(value, ",").size());
    } else if (name == "N" || name == "npernode" || name == "ppn" || name == "perhost") {
      of_machine = value;
    } else if (name == "map_by" && value.starts_with("ppr:") && value.ends_with(":node")) {
      of_machine = value.substr(4, value.size() - 9);
    } else if (name == "hostfile" || name == "machinefile" || name == "f") {
      launch.refuse("--" + name,
                    "names the machines in a file, which is not read here: berth "
                    "trains on the GPUs of one machine, or on the CPUs of several with "
                    "--world-size");
    }
  }
  const uint64_t all = parse_number(launch.processes).value_or(0),
                 here = parse_number(of_machine).value_or(0);
  if (here > 0 && all > here) launch.machines = std::to_string((all + here - 1) / here);
}

// Intel's launcher, on CPUs. Without processes of one training it starts the script several times.
void read_ipex_option(const std::string& name, const std::string& value, Launch& launch) {
  if (name == "nprocs_per_node" || name == "nproc_per_node") launch.processes = value;
  if (name == "nnodes") launch.machines = value;
  const bool is_several =
      name == "ninstances"
          ? value != "1"
          : name == "multi_instance" || name == "throughput_mode" || name == "latency_mode";
  if (is_several) {
    launch.refuse("--" + name, "starts the whole script several times; leave it out");
  }
}

void read_ipexrun(Words words, Launch& launch) {
  launch.device = AskedDevice::kCpu;
  launch.launcher = kIpexRun;
  OptionReader options(words);
  for (std::string name, value; options.next(name, value);) {
    read_ipex_option(name, value, launch);
  }
}

// ray job submit --entrypoint-num-gpus 2 -- python run_glue.py
void read_ray(Words words, Launch& launch) {
  OptionReader options(words);
  for (std::string name, value; options.next(name, value);) {
    if (name == "entrypoint_num_gpus") launch.see_gpus(value);
  }
}

void read_singularity(Words words, Launch& launch) {
  if (is_one_of(words, "--nv") && launch.visible.empty()) launch.see_gpus("all");
}

// A program that may stand before a script, and the function that reads its words.
struct PrefixProgram {
  std::string_view name;
  void (*read)(Words words, Launch& launch);
};

constexpr PrefixProgram kReadPrograms[] = {
    {"docker", read_container},
    {"podman", read_container},
    {"nvidia-docker", read_container},
    {"nerdctl", read_container},
    {"srun", read_slurm},
    {"sbatch", read_slurm},
    {"bsub",
     [](Words words, Launch& to) {
       read_gpu_option(words, "R", {"ngpus_excl_p=", "ngpus_physical=", "ngpus="}, to);
       read_gpu_option(words, "gpu", {"num="}, to);
     }},
    {"qsub",
     [](Words words, Launch& to) {
       read_gpu_option(words, "l", {"gpus=", "gpu="}, to);
     }},
    {"kubectl",
     [](Words words, Launch& to) { read_gpu_option(words, "limits", {"nvidia.com/gpu="}, to); }},
    {"jsrun", read_jsrun},
    {"mpirun", read_mpi},
    {"mpiexec", read_mpi},
    {"mpiexec.hydra", read_mpi},
    {"horovodrun", read_mpi},
    {"ray", read_ray},
    {"singularity", read_singularity},
    {"apptainer", read_singularity},
    {kIpexRun, read_ipexrun},
    {"neuron_parallel_compile",
     [](Words, Launch& to) { to.refuse("neuron_parallel_compile", kOtherDevices); }},
};

// The row of the program that the word names. nullptr: there is none.
const PrefixProgram* read_program_of(std::string_view word) {
  const auto row = std::ranges::find(kReadPrograms, last_part(word), &PrefixProgram::name);
  return row == std::end(kReadPrograms) ? nullptr : &*row;
}

// Programs that may stand before a script and leave its job as it is.
constexpr std::string_view kOtherPrefixes =
    "dvc gcloud ssh tmux screen env time nohup sudo exec eval nice ionice taskset numactl stdbuf "
    "timeout setsid unbuffer xvfb-run conda mamba micromamba poetry uv pipenv pdm rye hatch bash "
    "sh zsh do then else if while until sleep run winpty start call ipython py caffeinate nsys "
    "ncu nvprof perf strace gdb coverage pyenv pixi uvx command builtin docker-compose flock chrt "
    "chronic catchsegv systemd-run proxychains proxychains4 ts";

bool is_known_program(std::string_view word) {
  const bool is_word = !word.empty() && ((word[0] >= 'a' && word[0] <= 'z') || word[0] == '.' ||
                                         word[0] == '/' || word[0] == '~');
  return !is_word || read_program_of(word) != nullptr || is_one_of(kOtherPrefixes, last_part(word));
}

// Reads the words before the interpreter: `docker run --gpus 2 IMAGE`, `mpirun -np 8`, `srun -n 4
// --gres=gpu:4`, `horovodrun -np 4`, `singularity exec --nv IMAGE`, `bsub -gpu num=2`. It says how
// many processes run, on how many machines, and with which GPUs.
void read_prefix(Words words, Launch& launch) {
  if (!words.empty() && !is_known_program(words[0])) {
    launch.refuse(
        words[0],
        "is not known here, and may change what the script does; leave it out of the line "
        "where it changes nothing");
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = last_part(words[i]);
    if (is_assignment(words[i])) {  // srun env CUDA_VISIBLE_DEVICES=1
      read_environment(words.subspan(i, 1), launch);
    } else if (const PrefixProgram* program = read_program_of(name)) {
      program->read(words.subspan(i), launch);
    } else if (name == "tpus" || name == "tpu-vm") {  // gcloud compute tpus tpu-vm ssh
      launch.device = AskedDevice::kTpu;
    }
  }
}

// Options of `docker run` that take no value.
constexpr std::string_view kContainerSwitches =
    "-i -t -it -ti -d -P --rm --privileged --init --read-only --detach --sig-proxy --interactive "
    "--tty";

// The words behind the image of a `docker run`, where no interpreter is named and the image's own
// program takes them. Empty: the words start no container.
Words container_arguments(Words words) {
  const auto program = std::ranges::find_if(words, [](const std::string& word) {
    const PrefixProgram* row = read_program_of(word);
    return row != nullptr && row->read == read_container;
  });
  if (program == words.end()) return {};
  const auto run = std::find(program, words.end(), "run");
  size_t at = static_cast<size_t>(run - words.begin()) + 1;
  for (; at < words.size() && words[at].starts_with('-'); ++at) {
    const bool is_switch = is_one_of(kContainerSwitches, words[at]);
    if (!is_switch && words[at].find('=') == std::string::npos) ++at;
  }
  if (at + 1 >= words.size()) return {};
  return words.subspan(at + 1);  // behind the image
}

constexpr std::string_view kLauncherModules =
    "torch.distributed.launch torch.distributed.run accelerate.commands.launch";
constexpr std::string_view kProcessOptions =
    "nproc_per_node num_processes num_gpus num_cores nproc";
constexpr std::string_view kMachineOptions = "nnodes num_nodes num_machines";
// Modules that train nothing.
constexpr std::string_view kIdleModules =
    "pip venv virtualenv pytest unittest build spacy ipykernel ensurepip nltk.downloader "
    "http.server pre_commit";
// Options of launchers that take no value. Others take the next word, unless it is an option.
constexpr std::string_view kSwitches =
    "standalone use_env multi_gpu cpu tpu use_deepspeed use_fsdp use_megatron_lm no_python "
    "run_path quiet q debug same_network no_local_rank use_mps_device u s B E O I v use_xpu";
// Commands that may name a script, and start none.
constexpr std::string_view kOtherPrograms =
    "echo printf wget curl cp mv rm cat chmod git ls pip pip3 sed grep head touch rsync scp vim "
    "cd source";

// Whether a file of this name is a Python script: "a/run_glue.py" and "My Drive/a.py", but not the
// text "python a.py" of a shell.
bool is_script(std::string_view word) {
  return !word.starts_with('-') && (word.ends_with(".py") || word.ends_with(".ipynb")) &&
         last_part(word).find(' ') == std::string_view::npos;
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

// Reads the options of interpreters and launchers up to the script.
class LaunchReader {
 public:
  LaunchReader(Words words, Launch launch) : words_(words), launch_(std::move(launch)) {}

  std::optional<Launch> read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      const std::string_view launcher = launcher_of(last_part(word));
      if (word == "-m" || word == "--module") {
        if (at_ < words_.size() && is_one_of(kIdleModules, words_[at_])) return std::nullopt;
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
      launch_.launcher = kIpexRun;
      return false;
    }
    if (module.starts_with("paddle.")) {
      launch_.refuse(module, "starts a script of PaddlePaddle, whose defaults are not known here");
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
      launch_.refuse("gaudi_spawn.py", kOtherDevices);
      return false;
    }
    launch_.path = path;
    launch_.script = last_part(path);
    return true;
  }

  void read_option(const std::string& word) {
    const Option option = cut_option(word);
    const bool has_word = !option.value && !is_one_of(kSwitches, option.name) &&
                          at_ < words_.size() && !words_[at_].starts_with('-') &&
                          !is_script(words_[at_]);
    const std::string value = has_word ? words_[at_++] : option.value.value_or("");
    take_option(word.substr(0, word.find('=')), option.name, value);
  }

  void take_option(const std::string& typed, const std::string& name, const std::string& value) {
    const bool is_accelerate = launch_.launcher == "accelerate";
    if (is_one_of(kProcessOptions, name)) {
      launch_.processes = value;
      launch_.counts_all = name == "num_processes";  // of accelerate
    }
    if (is_one_of(kMachineOptions, name)) launch_.machines = value;
    if (launch_.launcher == kIpexRun) read_ipex_option(name, value, launch_);
    if (name == "num_gpus" || name == "multi_gpu") launch_.device = AskedDevice::kGpu;
    if (name == "include" && launch_.launcher == "deepspeed") {
      launch_.processes = counted_devices(value.substr(value.rfind(':') + 1));
    }
    if (name == "autotuning" && launch_.launcher == "deepspeed") {
      launch_.refuse(typed,
                     "makes DeepSpeed search for another batch; leave it out and name "
                     "the batch that it found");
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
      launch_.remark(typed, kSplitModel);
    }
    if (name == "use_megatron_lm" || name == "use_mps_device" || name == "use_xpu") {
      launch_.refuse(typed, kOtherDevices);
    }
    if (name == "gradient_accumulation_steps" || name == "gradient_clipping" ||
        name == "deepspeed_config_file") {
      launch_.refuse(typed,
                     "is a setting of DeepSpeed, which may change the batch: name its "
                     "value among the script's own flags, and leave this one out");
    }
  }

  Words words_;
  size_t at_ = 0;
  Launch launch_;
};

}  // namespace

void Launch::add_flag(std::string_view name, std::string_view value) {
  flags.push_back(cat("--", name, "=", value));
}

void Launch::see_gpus(const std::string& count) {
  present = count;
  mask_gpus(masked);
}

void Launch::mask_gpus(const std::string& count) {
  masked = count;
  device = count == "0" ? AskedDevice::kCpu : AskedDevice::kGpu;
  const std::optional<uint64_t> all = parse_number(present), left = parse_number(count);
  if (count.empty() || count == "0") {
    visible = count.empty() ? present : "";
  } else {
    visible = all && left ? std::to_string(std::min(*all, *left)) : count;
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
  for (const std::string& name : command.chosen) {
    launch->refuse(
        name,
        "has several values in the text: a condition, a loop or a command sets it; write "
        "the value that is meant in its place");
  }
  return launch;
}

void ScriptOrigins::note(const ShellCommand& command) {
  if (command.words.size() > 1 && command.words[0] == "cd") folder_ = command.words[1];
  for (const std::string& word : command.words) {
    if (word.find("://") != std::string::npos && word.ends_with(".py")) fetched_.push_back(word);
  }
}

std::string ScriptOrigins::of(const Launch& launch) const {
  for (const std::string& address : fetched_) {
    if (last_part(address) == launch.script) return address;
  }
  const bool is_here =
      last_part(launch.path) == launch.script && !launch.path.starts_with('/') && !folder_.empty();
  return is_here ? cat(folder_, "/", launch.path) : "";
}

}  // namespace berth
