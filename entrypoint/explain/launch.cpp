#include "entrypoint/explain/launch.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "entrypoint/flags/mode_flags.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 3> kLauncherModules = {
    "torch.distributed.launch", "torch.distributed.run", "accelerate.commands.launch"};
constexpr std::array<std::string_view, 5> kProcessOptions = {"nproc_per_node", "num_processes",
                                                             "num_gpus", "num_cores", "nproc"};
constexpr std::array<std::string_view, 3> kMachineOptions = {"nnodes", "num_nodes", "num_machines"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_script(const std::string& word) { return !word.starts_with('-') && word.ends_with(".py"); }

bool is_starter(const std::string& word) {
  const std::string_view name = last_part(word);
  return name.starts_with("python") || name == "torchrun" || name == "accelerate" ||
         name == "deepspeed" || name == "berth" || is_script(word);
}

// Reads the options of interpreters and launchers up to the script.
class LaunchReader {
 public:
  explicit LaunchReader(std::span<const std::string> words) : words_(words) {}

  std::optional<Launch> read() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (word == "-m" || word == "--module") {
        if (at_ < words_.size() && starts_module(words_[at_++])) return finished();
      } else if (word.starts_with('-')) {
        read_option(word);
      } else if (is_script(word) && starts_script(last_part(word))) {
        return finished();
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
    if (is_one_of(kLauncherModules, module)) return false;
    launch_.script = module.substr(module.rfind('.') + 1) + ".py";
    return true;
  }

  bool starts_script(std::string_view name) {
    if (name == "xla_spawn.py") {
      launch_.uses_tpu = true;
      return false;
    }
    launch_.script = name;
    return true;
  }

  // An option takes the next word, unless that is another option or the script.
  void read_option(const std::string& word) {
    const size_t equals = word.find('=');
    std::string name = word.substr(0, equals), value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (at_ < words_.size() && !words_[at_].starts_with('-') && !is_script(words_[at_])) {
      value = words_[at_++];
    }
    name.erase(0, name.find_first_not_of('-'));
    std::ranges::replace(name, '-', '_');
    if (is_one_of(kProcessOptions, name)) {
      launch_.processes = value;
      launch_.counts_all = name == "num_processes";  // of accelerate
    }
    if (is_one_of(kMachineOptions, name)) launch_.machines = value;
  }

  std::span<const std::string> words_;
  size_t at_ = 0;
  Launch launch_;
};

}  // namespace

std::optional<Launch> find_launch(std::span<const std::string> words) {
  if (words.empty()) return std::nullopt;
  if (words[0].starts_with("--")) {
    return Launch{.flags = {words.begin(), words.end()}};
  }
  const auto starter = std::ranges::find_if(words, is_starter);
  if (starter == words.end()) return std::nullopt;
  if (last_part(*starter) == "berth") {
    Launch launch{.flags = {starter + 1, words.end()}};
    const std::string mode = launch.flags.empty() ? "" : mode_of_word(launch.flags[0]);
    if (!mode.empty()) launch.flags[0] = "--mode=" + mode;
    return launch;
  }
  const auto skipped = static_cast<size_t>(starter - words.begin());
  return LaunchReader(words.subspan(is_script(*starter) ? skipped : skipped + 1)).read();
}

}  // namespace berth
