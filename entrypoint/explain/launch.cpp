#include "entrypoint/explain/launch.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "entrypoint/explain/launch_prefix.h"
#include "entrypoint/flags/mode_flags.h"
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

}  // namespace berth
