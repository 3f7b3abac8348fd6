#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/shell_text.h"

namespace berth {

// The kind of device that a command line asks for.
enum class AskedDevice { kNotSaid, kCpu, kGpu, kTpu };

// A setting of a launcher for which berth has no flag: a word of the line, and a sentence.
struct LaunchRemark {
  std::string word, text;
  bool refused;
};

// How a command starts a training script, and on which devices.
struct Launch {
  std::string script{};  // "run_glue.py", or the last part of a module's name; empty: only flags
  std::string path{};    // the script or module as it was typed
  std::vector<std::string> flags{};
  std::string launcher{};   // "torchrun", "accelerate", "deepspeed", "mpirun"; empty: none
  std::string processes{};  // how many run at the same time, as typed: "8"; empty: not said
  std::string machines{};   // likewise, on how many machines
  bool counts_all = false;  // whether `processes` counts all machines together, not one machine
  bool is_berth = false;    // the line runs berth itself

  AskedDevice device = AskedDevice::kNotSaid;
  std::string visible{};  // how many GPUs the process sees, as typed: "2", "all"; empty: not said

  std::string config_file{};  // of accelerate launch, as typed
  std::string precision{};    // "fp16", "bf16" or "no", as `precision_word` says
  std::string precision_word = "--mixed_precision";  // of accelerate, or a variable
  std::vector<LaunchRemark> remarks{};

  void add_flag(std::string_view name, std::string_view value);  // without its dashes
  void remark(std::string word, std::string text);
  void refuse(std::string word, std::string text);
};

// Finds the script behind python, torchrun, accelerate launch, deepspeed, `python -m
// torch.distributed.launch` or xla_spawn.py, and reads what docker, mpirun, srun and horovodrun say
// before these. Words that begin with flags are the flags of no script, and so are the words behind
// `berth`. nullopt: no script is started.
std::optional<Launch> find_launch(std::span<const std::string> words);

// The same for a command of a text, with further facts from the text: the variables in front of it
// and before it, and the options of its batch job.
std::optional<Launch> launch_of(const ShellCommand& command);

// Reads the setting of a variable in front of a command, such as CUDA_VISIBLE_DEVICES=0,1.
void read_environment(std::span<const std::string> environment, Launch& launch);

// Whether a file of this name is a Python script: "a/run_glue.py".
bool is_script_name(std::string_view word);

// Remarks about launchers for devices that berth does not drive.
constexpr std::string_view kOtherDevices =
    "has no counterpart; berth trains on CPUs, TPUs and GPUs of NVIDIA";

// Reads the words before the interpreter: `docker run --gpus 2 IMAGE`, `mpirun -np 8`, `srun -n 4
// --gres=gpu:4`, `horovodrun -np 4`, `singularity exec --nv IMAGE`, `bsub -gpu num=2`. It says how
// many processes run, on how many machines, and with which GPUs.
void read_prefix(std::span<const std::string> words, Launch& launch);

// The words behind the image of a `docker run`, where no interpreter is named and the image's own
// program takes them. Empty: the words start no container.
std::span<const std::string> container_arguments(std::span<const std::string> words);

// The number of items in a list of devices such as "0,1,3" or "device=0,1"; "" where it has none.
std::string counted_devices(std::string_view list);

}  // namespace berth
