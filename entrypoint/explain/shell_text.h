#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// What a variable says about the devices of the commands behind it.
enum class VariableMeaning {
  kVisibleGpus,   // which GPUs they see
  kPlatform,      // the kind of device, by its name
  kTpu,           // that they run on a TPU
  kBf16OfTpu,     // likewise, in bf16
  kCpu,           // where it is on: that they run on the CPU
  kPrecision,     // the type of matrix products
  kOtherDevices,  // devices that berth does not drive
};

struct DeviceVariable {
  std::string_view name;
  VariableMeaning meaning;
};

inline constexpr DeviceVariable kDeviceVariables[] = {
    {"CUDA_VISIBLE_DEVICES", VariableMeaning::kVisibleGpus},
    {"NVIDIA_VISIBLE_DEVICES", VariableMeaning::kVisibleGpus},
    {"PJRT_DEVICE", VariableMeaning::kPlatform},
    {"JAX_PLATFORMS", VariableMeaning::kPlatform},
    {"JAX_PLATFORM_NAME", VariableMeaning::kPlatform},
    {"XRT_TPU_CONFIG", VariableMeaning::kTpu},
    {"XLA_USE_BF16", VariableMeaning::kBf16OfTpu},
    {"XLA_DOWNCAST_BF16", VariableMeaning::kBf16OfTpu},
    {"ACCELERATE_USE_CPU", VariableMeaning::kCpu},
    {"ACCELERATE_MIXED_PRECISION", VariableMeaning::kPrecision},
    {"HIP_VISIBLE_DEVICES", VariableMeaning::kOtherDevices},
    {"ROCR_VISIBLE_DEVICES", VariableMeaning::kOtherDevices},
    {"ASCEND_RT_VISIBLE_DEVICES", VariableMeaning::kOtherDevices},
    {"HABANA_VISIBLE_DEVICES", VariableMeaning::kOtherDevices},
    {"NEURON_RT_VISIBLE_CORES", VariableMeaning::kOtherDevices},
    {"ZE_AFFINITY_MASK", VariableMeaning::kOtherDevices},
};

// One command of a shell's text.
struct ShellCommand {
  std::vector<std::string> environment{};  // "CUDA_VISIBLE_DEVICES=0", in front of the program
  std::vector<std::string> words{};
  std::string redirections{};  // "> log.txt", as it was typed
  // Settings of kDeviceVariables in earlier commands of the text: "CUDA_VISIBLE_DEVICES=0,1".
  std::vector<std::string> earlier_settings{};
  // The options that schedulers read in comments above the command, as a command: "sbatch",
  // "--gres=gpu:4".
  std::vector<std::string> batch_options{};
  // Variables in its words and settings that may have several values, because a condition, a loop
  // or a command sets them. They stay, as "$NAME".
  std::set<std::string> chosen{};
};

// Cuts text as someone pastes it from a page or a script into commands, as a POSIX shell would:
// quotes, backslashes, line continuations, comments, and the ends of commands. Nothing is run.
// Lines of Windows continue behind a caret or a backtick. Variables that the text itself sets, with
// or without `export`, are replaced, and cut at blanks without quotes. So are arrays of bash.
// ${NAME:-word} that nothing sets becomes the word, and ${NAME:=word} also sets it. Other variables
// stay, as "$NAME". Commands that only set variables are left out. Throws kUsage on a quote without
// end, and where variables that hold others make more than 4 MiB. `variables` are set before, and
// `chosen` too: to one of several values.
std::vector<ShellCommand> shell_commands(std::string_view text,
                                         const std::map<std::string, std::string>& variables = {},
                                         const std::set<std::string>& chosen = {});

// Whether a list holds this word. The is_one_of() of storage/base/text.h takes a list in one text.
inline bool is_one_of(std::span<const std::string> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// "NAME=value", or "NAME+=value" as bash appends.
bool is_assignment(const std::string& word);

// The commands in a word of this command, as in `docker run IMAGE bash -c "cd /w && python a.py"`,
// `ssh HOST "..."` or `sbatch --wrap="..."`. Each begins with the words before the shell. Empty: no
// word is text of a shell.
std::vector<ShellCommand> inner_commands(const ShellCommand& command);

// Moves words such as NAME=value that stand before the program to `environment`.
void split_environment(ShellCommand& command);

}  // namespace berth
