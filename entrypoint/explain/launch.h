#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "entrypoint/explain/shell_text.h"
#include "entrypoint/flags/foreign/translation.h"

namespace berth {

// The kind of device that a command line asks for.
enum class AskedDevice { kNotSaid, kCpu, kGpu, kTpu };

// How a command starts a training script, and on which devices.
struct Launch {
  std::string script{};  // "run_glue.py", or the last part of a module's name; empty: only flags
  std::string path{};    // the script or module as it was typed
  std::string origin{};  // where other commands of a text fetched it, or changed to; may be empty
  std::vector<std::string> flags{};
  std::string launcher{};       // "torchrun", "accelerate", "deepspeed", "mpirun"; empty: none
  std::string processes{};      // how many run at the same time, as typed: "8"; empty: not said
  std::string machines{};       // likewise, on how many machines
  bool counts_all = false;      // whether `processes` counts all machines together, not one machine
  bool is_berth = false;        // the line runs berth itself
  bool lacks_training = false;  // the program is a file here, and trains nothing by code or flags
  bool gathers_rows = false;    // its processes compare the rows of all of them

  AskedDevice device = AskedDevice::kNotSaid;
  std::string visible{};  // how many GPUs the process sees, as typed: "2", "all"; empty: not said
  std::string present{};  // likewise, how many the machine or the container has
  std::string masked{};   // likewise, how many of these CUDA_VISIBLE_DEVICES leaves; empty: all

  std::string config_file{};  // of accelerate launch, as typed
  std::string precision{};    // "fp16", "bf16" or "no", as `precision_word` says
  std::string precision_word = "--mixed_precision";  // of accelerate, or a variable
  Remarks remarks{};  // settings of the launcher for which berth has no flag

  // The best that is known of the script's folder.
  const std::string& place() const { return origin.empty() ? path : origin; }

  void add_flag(std::string_view name, std::string_view value);  // without its dashes
  // Set `present` and `masked`, in any order, and `visible` and `device` by both.
  void see_gpus(const std::string& count);
  void mask_gpus(const std::string& count);
  void remark(std::string_view word, std::string_view text) { remarks.note(word, text); }
  void refuse(std::string_view word, std::string_view text) { remarks.refuse(word, text); }
};

// Finds the script behind python, torchrun, accelerate launch, deepspeed, `python -m
// torch.distributed.launch` or xla_spawn.py, and reads what docker, mpirun, srun and horovodrun say
// before these. Words that begin with flags are the flags of no script, and so are the words behind
// `berth`. nullopt: no script is started.
std::optional<Launch> find_launch(std::span<const std::string> words);

// The same for a command of a text, with further facts from the text: the variables in front of it
// and before it, and the options of its batch job.
std::optional<Launch> launch_of(const ShellCommand& command);

// Where the scripts of a text come from: an address that curl or wget fetched, or the folder that
// `cd` changed to. Projects have scripts of the same name for PyTorch, Flax and TensorFlow.
class ScriptOrigins {
 public:
  // `folder` is the one in which the commands begin; empty: it is not known.
  explicit ScriptOrigins(std::string folder = "") : folder_(std::move(folder)) {}

  void note(const ShellCommand& command);
  std::string of(const Launch& launch) const;

 private:
  std::string folder_;
  std::vector<std::string> fetched_;
};

}  // namespace berth
