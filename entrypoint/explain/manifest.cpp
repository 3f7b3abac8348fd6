#include "entrypoint/explain/manifest.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "entrypoint/explain/option_files.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

bool is_manifest_name(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml");
}

// How many replicas run; 1 where the text is no number.
int64_t replicas_in(std::string_view text) {
  constexpr uint64_t kMost = 100'000;
  return static_cast<int64_t>(std::min(parse_number(text).value_or(1), kMost));
}

const OrderedJson* member_of(const OrderedJson& object, const char* key) {
  return object.is_object() && object.contains(key) ? &object.at(key) : nullptr;
}

std::vector<std::string> words_of(const OrderedJson& container, const char* key) {
  std::vector<std::string> words;
  const OrderedJson* list = member_of(container, key);
  if (list == nullptr) return words;
  if (!list->is_array()) return {option_text(*list)};
  for (const OrderedJson& word : *list) words.push_back(option_text(word));
  return words;
}

// "8" of "V100:8" or {V100: 8}; "1" of "V100"; "all" where a list lets the cloud choose.
std::string accelerator_count(const OrderedJson& value) {
  if (value.is_object() && value.size() == 1) return option_text(value.begin().value());
  if (!value.is_string()) return "all";
  const std::string text = value.get<std::string>();
  const size_t colon = text.find(':');
  return colon == std::string::npos ? "1" : text.substr(colon + 1);
}

// Finds the containers in documents, whatever the kind of workload.
class ManifestReader {
 public:
  // What stands above a container and says how often and with what it runs.
  struct Surroundings {
    int64_t replicas = 1;
    std::string gpus{}, tpus{};
    int64_t mpi_workers = 1;              // machines on which mpirun starts processes
    std::vector<std::string> settings{};  // variables of the container
  };

  void read(const OrderedJson& value, Surroundings around) {
    if (value.is_array()) {
      for (const OrderedJson& item : value) read(item, around);
    }
    if (!value.is_object()) return;
    for (const char* key : {"replicas", "replicaCount", "completions"}) {
      if (const OrderedJson* count = member_of(value, key)) {
        if (const auto number = parse_number(option_text(*count))) {
          around.replicas = static_cast<int64_t>(std::min<uint64_t>(*number, 100'000));
        }
      }
    }
    if (const OrderedJson* machine = member_of(value, "machineSpec")) {
      const OrderedJson* count = member_of(*machine, "acceleratorCount");
      if (count != nullptr) around.gpus = option_text(*count);
    }
    if (const OrderedJson* spec = member_of(value, "containerSpec")) take(*spec, around);
    if (const OrderedJson* spec = member_of(value, "container")) take(*spec, around);  // Argo
    if (const OrderedJson* spec = member_of(value, "pythonPackageSpec")) {
      std::vector<std::string> words = {"python", "-m"};
      for (const char* key : {"pythonModule", "args"}) {
        for (std::string& word : words_of(*spec, key)) words.push_back(std::move(word));
      }
      take_words(std::move(words), around);
    }
    if (const OrderedJson* mpi = member_of(value, "mpiReplicaSpecs")) {
      const OrderedJson* worker = member_of(*mpi, "Worker");
      const OrderedJson* count = worker == nullptr ? nullptr : member_of(*worker, "replicas");
      if (count != nullptr) around.mpi_workers = replicas_in(option_text(*count));
    }
    for (const auto& [key, item] : value.items()) {
      if (key == "containers" && item.is_array()) {
        for (const OrderedJson& container : item) take(container, around);
      } else if (key != "initContainers" && key != "containerSpec" && key != "container") {
        read(item, around);
      }
    }
  }

  // A task of SkyPilot: its resources, its variables, and the commands of its text `run`. false:
  // the document has no such text.
  bool read_task(const OrderedJson& task) {
    const OrderedJson* run = member_of(task, "run");
    if (run == nullptr || !run->is_string()) return false;
    Surroundings around;
    if (const OrderedJson* nodes = member_of(task, "num_nodes")) {
      around.replicas = replicas_in(option_text(*nodes));
    }
    const OrderedJson* resources = member_of(task, "resources");
    const OrderedJson* gpus =
        resources == nullptr ? nullptr : member_of(*resources, "accelerators");
    const bool is_tpu =
        gpus != nullptr && lower_ascii(to_text(*gpus)).find("tpu") != std::string::npos;
    if (gpus != nullptr) (is_tpu ? around.tpus : around.gpus) = accelerator_count(*gpus);
    std::map<std::string, std::string> variables;
    for (const char* key : {"envs", "secrets"}) {
      const OrderedJson* settings = member_of(task, key);
      if (settings == nullptr || !settings->is_object()) continue;
      for (const auto& [name, value] : settings->items()) {
        if (!value.is_null()) variables[name] = option_text(value);
      }
    }
    for (ShellCommand& command : shell_commands(run->get<std::string>(), variables)) {
      std::optional<Launch> launch = launch_of(command);
      if (launch) add(std::move(command), std::move(*launch), around);
    }
    return true;
  }

  void take_words(std::vector<std::string> words, const Surroundings& around) {
    ShellCommand command{.words = std::move(words), .earlier_settings = around.settings};
    std::vector<ShellCommand> commands;
    if (!launch_of(command)) commands = inner_commands(command);
    if (commands.empty()) commands.push_back(std::move(command));
    for (ShellCommand& one : commands) {
      std::optional<Launch> launch = launch_of(one);
      if (!launch) continue;
      add(std::move(one), std::move(*launch), around);
    }
  }

  std::vector<ManifestLaunch> jobs() {
    std::vector<ManifestLaunch> all;
    for (auto& [key, job] : jobs_) {
      const int64_t machines = replicas_[key];
      if (machines > 1 && job.launch.machines.empty()) {
        job.launch.machines = std::to_string(machines);
        if (job.launch.launcher.empty()) job.launch.launcher = "torchrun";
        if (job.launch.processes.empty()) job.launch.processes = "1";
      }
      all.push_back(std::move(job));
    }
    return all;
  }

 private:
  void take(const OrderedJson& container, Surroundings around) {
    if (const OrderedJson* resources = member_of(container, "resources")) {
      for (const char* kind : {"requests", "limits"}) {
        const OrderedJson* amounts = member_of(*resources, kind);
        if (amounts == nullptr) continue;
        if (const OrderedJson* gpus = member_of(*amounts, "nvidia.com/gpu")) {
          around.gpus = option_text(*gpus);
        }
        if (const OrderedJson* tpus = member_of(*amounts, "google.com/tpu")) {
          around.tpus = option_text(*tpus);
        }
      }
    }
    std::vector<std::string> words = words_of(container, "command");
    const std::vector<std::string> arguments = words_of(container, "args");
    words.insert(words.end(), arguments.begin(), arguments.end());
    if (words.empty()) return;
    if (const OrderedJson* variables = member_of(container, "env")) {
      for (const OrderedJson& variable : *variables) {
        const OrderedJson* name = member_of(variable, "name");
        const OrderedJson* value = member_of(variable, "value");
        if (name == nullptr || value == nullptr) continue;
        around.settings.push_back(cat(option_text(*name), "=", option_text(*value)));
      }
    }
    take_words(std::move(words), around);
  }

  // Replicas that run the same words, such as Master and Worker, are machines of one job.
  void add(ShellCommand command, Launch launch, const Surroundings& around) {
    std::string key;
    for (const std::string& word : command.words) key += word + '\n';
    const bool has_gpus = !around.gpus.empty() && around.gpus != "0";
    if (has_gpus) {
      launch.device = AskedDevice::kGpu;
      launch.visible = around.gpus;
    } else if (!around.tpus.empty()) {
      launch.device = AskedDevice::kTpu;
    }
    if (launch.launcher == "mpirun" && launch.machines.empty() && around.mpi_workers > 1) {
      launch.machines = std::to_string(around.mpi_workers);
    }
    replicas_[key] += around.replicas;
    jobs_.try_emplace(key, ManifestLaunch{std::move(command), std::move(launch)});
  }

  std::map<std::string, ManifestLaunch> jobs_;
  std::map<std::string, int64_t> replicas_;
};

// The value of an option of gcloud, "--args=a,b" and "--args a,b" alike; empty: it is not there.
std::vector<std::string> options_of(std::span<const std::string> words, std::string_view name) {
  std::vector<std::string> values;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == name && i + 1 < words.size()) values.push_back(words[i + 1]);
    if (words[i].starts_with(cat(name, "="))) values.push_back(words[i].substr(name.size() + 1));
  }
  return values;
}

// Cuts a list of gcloud: at commas, or at the characters between two ^ at its beginning.
std::vector<std::string> cut_list(std::string text) {
  std::string separator = ",";
  if (text.starts_with('^')) {
    const size_t end = text.find('^', 1);
    if (end != std::string::npos && end > 1) {
      separator = text.substr(1, end - 1);
      text.erase(0, end + 1);
    }
  }
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + separator.size();
  }
  return parts;
}

void read_gcloud(std::span<const std::string> words, const ExplainOptions& options,
                 ManifestReader& reader) {
  for (const std::string& path : options_of(words, "--config")) {
    const auto text = options.read_file ? options.read_file(path) : std::nullopt;
    if (!text) {
      throw Error(Code::kUsage, "the file of --config is not here", path,
                  "run berth explain where the file is");
    }
    for (const OrderedJson& document : parse_yaml(*text)) reader.read(document, {});
  }
  std::vector<std::string> arguments;
  for (const std::string& list : options_of(words, "--args")) {
    for (std::string& part : cut_list(list)) arguments.push_back(std::move(part));
  }
  std::vector<std::string> line;  // a pool without a program runs the one of the pool before
  for (const std::string& list : options_of(words, "--worker-pool-spec")) {
    ManifestReader::Surroundings around;
    for (const std::string& part : cut_list(list)) {
      const size_t equals = part.find('=');
      const std::string key = part.substr(0, equals);
      const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
      if (key == "accelerator-count") around.gpus = value;
      if (key == "accelerator-type" && around.gpus.empty()) around.gpus = "1";
      if (key == "replica-count") {
        around.replicas = replicas_in(value);
      }
      if (key == "script") line = {"python", value};
      if (key == "python-module") line = {"python", "-m", value};
    }
    for (const std::string& command : options_of(words, "--command")) line = cut_list(command);
    std::vector<std::string> whole = line;
    whole.insert(whole.end(), arguments.begin(), arguments.end());
    if (!whole.empty()) reader.take_words(std::move(whole), around);
  }
}

// Whether a pasted text is a task of SkyPilot.
bool is_task(std::string_view text) {
  const auto has_line = [&](std::string_view key) {
    return text.starts_with(key) || text.find(cat("\n", key)) != text.npos;
  };
  return has_line("run:") && has_line("resources:");
}

bool starts_job(std::span<const std::string> words) {
  return !words.empty() && words[0] == "gcloud" &&
         (is_one_of(words, "ai") || is_one_of(words, "ai-platform"));
}

// gcloud ai-platform jobs submit training JOB [--module-name M] -- FLAGS
void read_ai_platform(std::span<const std::string> words, ManifestReader& reader) {
  ManifestReader::Surroundings around;
  const auto flags = std::ranges::find(words, "--");
  std::vector<std::string> line;
  for (const std::string& module : options_of(words, "--module-name")) {
    line = {"python", "-m", module};
  }
  for (const std::string& tier : options_of(words, "--scale-tier")) {
    const std::string name = lower_ascii(tier);
    if (name == "basic-gpu" || name == "basic_gpu") around.gpus = "1";
    if (name == "basic-tpu" || name == "basic_tpu") around.tpus = "8";
  }
  for (const std::string& list : options_of(words, "--master-accelerator")) {
    for (const std::string& part : cut_list(list)) {
      if (part.starts_with("count=")) around.gpus = part.substr(6);
    }
  }
  if (flags != words.end()) line.insert(line.end(), flags + 1, words.end());
  if (!line.empty()) reader.take_words(std::move(line), around);
}

}  // namespace

std::vector<ManifestLaunch> find_manifest_jobs(std::span<const std::string> words, bool is_text,
                                               const ExplainOptions& options) {
  std::vector<std::string> line(words.begin(), words.end());
  if (is_text) {
    std::vector<ShellCommand> commands = shell_commands(words[0]);
    if (commands.empty()) return {};
    const auto job = std::ranges::find_if(
        commands, [](const ShellCommand& command) { return starts_job(command.words); });
    line = std::move(job == commands.end() ? commands[0].words : job->words);
  }
  if (line.empty()) return {};
  ManifestReader reader;
  const bool is_manifest = line.size() == 1 && is_manifest_name(line[0]);
  if (is_manifest && options.read_file) {
    const std::optional<std::string> text = options.read_file(line[0]);
    if (!text) throw Error(Code::kNotFound, "no such file", line[0], "name a manifest");
    for (const OrderedJson& document : parse_yaml(*text)) {
      if (!reader.read_task(document)) reader.read(document, {});
    }
  } else if (is_text && is_task(words[0])) {
    for (const OrderedJson& document : parse_yaml(words[0])) reader.read_task(document);
  } else if (!starts_job(line)) {
    return {};
  } else if (is_one_of(line, "ai")) {
    read_gcloud(line, options, reader);
  } else {
    read_ai_platform(line, reader);
  }
  std::vector<ManifestLaunch> jobs = reader.jobs();
  if (jobs.empty()) {
    throw Error(Code::kUsage, "no container starts a training script", line[0],
                is_manifest ? "name a container whose command and args start one, or explain the "
                              "command line that another field holds"
                            : "the image starts it: explain the command line in its Dockerfile");
  }
  return jobs;
}

std::string manifest_args(const std::string& explanation) {
  const std::string first = explanation.substr(0, explanation.find("\n\n"));
  if (first.find("berth --") == std::string::npos) return "";
  std::string text = "\nargs:\n";
  const std::vector<ShellCommand> lines = shell_commands(first);
  for (const ShellCommand& line : lines) {
    const auto program = std::ranges::find(line.words, "berth");
    if (program == line.words.end()) continue;
    for (auto word = program + 1; word != line.words.end(); ++word) {
      text += cat("- ", to_text(Json(*word)), "\n");
    }
    break;
  }
  return text;
}

}  // namespace berth
