#include "entrypoint/explain/manifest.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>

#include "entrypoint/explain/option_files.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using Values = std::map<std::string, std::string>;

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

// The member at the end of a path of keys; nullptr: there is none.
const OrderedJson* member_at(const OrderedJson& object, std::initializer_list<const char*> path) {
  const OrderedJson* at = &object;
  for (const char* key : path) {
    if (at != nullptr) at = member_of(*at, key);
  }
  return at;
}

// The text of a member; empty: it has none.
std::string text_at(const OrderedJson& object, const char* key) {
  const OrderedJson* value = member_of(object, key);
  return value == nullptr || !value->is_string() ? "" : value->get<std::string>();
}

std::vector<std::string> words_of(const OrderedJson& container, const char* key) {
  std::vector<std::string> words;
  const OrderedJson* list = member_of(container, key);
  if (list == nullptr || list->is_null()) return words;
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

// The GPUs that a service of Docker Compose asks for: "2", "all"; empty: it asks for none.
std::string gpus_of_service(const OrderedJson& service) {
  const OrderedJson* lists[] = {
      member_of(service, "gpus"),
      member_at(service, {"deploy", "resources", "reservations", "devices"})};
  for (const OrderedJson* list : lists) {
    if (list == nullptr) continue;
    if (list->is_string()) return list->get<std::string>();
    if (!list->is_array()) continue;
    for (const OrderedJson& device : *list) {
      const std::vector<std::string> kinds = words_of(device, "capabilities");
      if (!kinds.empty() && !is_one_of(kinds, "gpu")) continue;
      const OrderedJson* names = member_of(device, "device_ids");
      if (names != nullptr && names->is_array()) return std::to_string(names->size());
      const std::string count = text_at(device, "count");
      return count.empty() ? "all" : count;
    }
  }
  return text_at(service, "runtime") == "nvidia" ? "all" : "";
}

// Adds the values of a mapping by their paths: "train.rate".
void add_values(const OrderedJson& value, const std::string& path, Values& values) {
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) {
      add_values(item, path.empty() ? key : cat(path, ".", key), values);
    }
  } else if (value.is_string()) {
    values[path] = value.get<std::string>();
  }
}

bool is_no_letter(char c) {
  return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'));
}

// A text with values in place of its expressions, which stand between `open` and `close`. One
// without a value becomes a variable of the shell, and `unknown` gets its name and the expression.
std::string filled_in(std::string_view text, std::string_view open, std::string_view close,
                      const Values& values, Values& unknown) {
  constexpr size_t kMostBytes = size_t{4} << 20;
  std::string filled;
  while (true) {
    const size_t begin = text.find(open);
    const size_t end = begin == text.npos ? begin : text.find(close, begin + open.size());
    if (end == text.npos) return filled.append(text);
    filled += text.substr(0, begin);
    const std::string_view inside =
        trimmed(text.substr(begin + open.size(), end - begin - open.size()));
    if (const auto value = values.find(std::string(inside)); value != values.end()) {
      filled += value->second;
    } else {
      std::string name = cat("value_", inside);
      std::ranges::replace_if(name, is_no_letter, '_');
      unknown[name] = inside;
      filled += cat("${", name, "}");
    }
    if (filled.size() > kMostBytes) {
      throw Error(Code::kUsage, "the values of a command have more than 4 MiB", "",
                  "explain the command line itself");
    }
    text.remove_prefix(end + close.size());
  }
}

// Finds the containers and the commands in documents, whatever the kind of workload.
class ManifestReader {
 public:
  // What stands above a container or a command, and says how often and with what it runs.
  struct Surroundings {
    int64_t replicas = 1;
    std::string gpus{}, tpus{};
    int64_t mpi_workers = 1;              // machines on which mpirun starts processes
    std::vector<std::string> settings{};  // variables: "NAME=value"
    std::string processes{};  // of torchrun where its line does not say: "2"; "auto": of the GPUs
    std::string place{};      // of a command in its file: two places are two jobs
    std::string folder{};     // where its commands begin
    bool is_text = false;     // a shell reads it
    bool has_no_gpu = false;
    Remarks remarks{};
    Values expressions{};  // without a value, by their variables
  };

  void read_document(const OrderedJson& document) {
    const std::string kind = text_at(document, "kind");
    if (kind == "TrainJob") return read_train_job(document);
    if (kind == "RayJob") return read_ray_job(document);
    if (kind == "PyTorchJob") return read(document, {.processes = processes_of_operator(document)});
    const OrderedJson *services = member_of(document, "services"),
                      *stages = member_of(document, "stages");
    if (services != nullptr && services->is_object()) return read_services(*services);
    if (stages != nullptr && stages->is_object()) return read_stages(*stages, document);
    if (read_task(document) || read_workflow(document)) return;
    read(document, {});
  }

  // The parameters of a DVC pipeline, in a file beside it.
  void read_parameters(const std::string& text) {
    for (const OrderedJson& document : parse_yaml(text)) add_values(document, "", parameters_);
  }

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

  void take_words(std::vector<std::string> words, const Surroundings& around) {
    take_command({.words = std::move(words)}, around, ScriptOrigins(around.folder));
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
  // A task of SkyPilot: its resources, its variables, and the commands of its text `run`. false:
  // the document has no such text.
  bool read_task(const OrderedJson& task) {
    const OrderedJson* run = member_of(task, "run");
    if (run == nullptr || !run->is_string()) return false;
    Surroundings around{.replicas = replicas_in(text_at(task, "num_nodes"))};
    const OrderedJson* gpus = member_at(task, {"resources", "accelerators"});
    const bool is_tpu =
        gpus != nullptr && lower_ascii(to_text(*gpus)).find("tpu") != std::string::npos;
    if (gpus != nullptr) (is_tpu ? around.tpus : around.gpus) = accelerator_count(*gpus);
    for (const char* key : {"envs", "secrets"}) add_settings(member_of(task, key), around);
    take_text(run->get<std::string>(), around);
    return true;
  }

  // Kubeflow's second version. torchrun takes its processes from a variable that the operator sets.
  void read_train_job(const OrderedJson& job) {
    const OrderedJson* trainer = member_at(job, {"spec", "trainer"});
    const bool has_words = trainer != nullptr && (member_of(*trainer, "command") != nullptr ||
                                                  member_of(*trainer, "args") != nullptr);
    if (!has_words) {
      throw Error(Code::kUsage, "the TrainJob takes its command from a runtime", "spec.trainer",
                  "write the runtime's command and args there, and explain it again");
    }
    const std::string processes = text_at(*trainer, "numProcPerNode");
    take(*trainer,
         {.replicas = replicas_in(text_at(*trainer, "numNodes")),
          .processes = processes.empty() ? "auto" : processes},
         "resourcesPerNode");
  }

  // Kubeflow's first version sets the same variable, to "auto" where the job does not say.
  static std::string processes_of_operator(const OrderedJson& job) {
    for (const OrderedJson* count : {member_at(job, {"spec", "nprocPerNode"}),
                                     member_at(job, {"spec", "elasticPolicy", "nProcPerNode"})}) {
      if (count != nullptr && !count->is_null()) return option_text(*count);
    }
    return "auto";
  }

  // The entrypoint of a RayJob runs once, on the head of the cluster or where it finds the GPUs
  // that it asks for.
  void read_ray_job(const OrderedJson& job) {
    const OrderedJson* spec = member_of(job, "spec");
    if (spec == nullptr) return;
    Surroundings around;
    const OrderedJson* containers =
        member_at(*spec, {"rayClusterSpec", "headGroupSpec", "template", "spec", "containers"});
    if (containers != nullptr && containers->is_array() && !containers->empty()) {
      see_amounts(member_of(containers->front(), "resources"), around);
    }
    const std::string asked = text_at(*spec, "entrypointNumGpus");
    if (!asked.empty() && asked != "0") around.gpus = asked;
    for (const OrderedJson& environment : parse_yaml(text_at(*spec, "runtimeEnvYAML"))) {
      add_settings(member_of(environment, "env_vars"), around);
    }
    take_text(text_at(*spec, "entrypoint"), around);
  }

  // Docker Compose: each service is a container.
  void read_services(const OrderedJson& services) {
    for (const auto& [name, service] : services.items()) {
      Surroundings around{.gpus = gpus_of_service(service),
                          .place = name,
                          .folder = text_at(service, "working_dir")};
      const OrderedJson* replicas = member_at(service, {"deploy", "replicas"});
      if (replicas != nullptr) around.replicas = replicas_in(option_text(*replicas));
      add_settings(member_of(service, "environment"), around);
      if (member_of(service, "env_file") != nullptr) {
        around.remarks.note("env_file",
                            "names a file of variables, which is not read here: if one of them "
                            "says on which devices the job trains, write it into environment");
      }
      if (member_of(service, "extends") != nullptr) {
        around.remarks.refuse("extends",
                              "takes settings of another service, which are not read here; write "
                              "them into this one");
      }
      std::vector<std::string> words = split_words(service, "entrypoint");
      const std::string command = text_at(service, "command");
      if (words.empty() && !command.empty()) {
        take_text(command, around);
        continue;
      }
      for (std::string& word : split_words(service, "command")) words.push_back(std::move(word));
      if (!words.empty()) take_words(std::move(words), around);
    }
  }

  // The words of a list, or of a text.
  static std::vector<std::string> split_words(const OrderedJson& service, const char* key) {
    const std::string text = text_at(service, key);
    if (text.empty()) return words_of(service, key);
    std::vector<ShellCommand> commands = shell_commands(text);
    return commands.empty() ? std::vector<std::string>() : std::move(commands[0].words);
  }

  // The stages of a DVC pipeline. ${train.rate} stands for a parameter.
  void read_stages(const OrderedJson& stages, const OrderedJson& pipeline) {
    if (const OrderedJson* values = member_of(pipeline, "vars"); values && values->is_array()) {
      for (const OrderedJson& item : *values) add_values(item, "", parameters_);
    }
    for (const auto& [name, stage] : stages.items()) {
      const OrderedJson* each = member_of(stage, "do");  // of foreach
      const OrderedJson& one = each == nullptr ? stage : *each;
      Surroundings around{.place = name, .folder = text_at(one, "wdir")};
      std::string text;
      for (const std::string& command : words_of(one, "cmd")) text += command + "\n";
      text = filled_in(text, "${", "}", parameters_, around.expressions);
      take_text(text, around);
    }
  }

  // A workflow of GitHub Actions: the commands of the steps of its jobs. false: it has no steps.
  bool read_workflow(const OrderedJson& workflow) {
    const OrderedJson* jobs = member_of(workflow, "jobs");
    if (jobs == nullptr || !jobs->is_object()) return false;
    Values values;
    for (const char* event : {"workflow_dispatch", "workflow_call"}) {
      const OrderedJson* inputs = member_at(workflow, {"on", event, "inputs"});
      if (inputs == nullptr || !inputs->is_object()) continue;
      for (const auto& [name, input] : inputs->items()) {
        if (member_of(input, "default") == nullptr) continue;
        values["inputs." + name] = values["github.event.inputs." + name] =
            text_at(input, "default");
      }
    }
    bool has_steps = false;
    for (const auto& [name, job] : jobs->items()) {
      const OrderedJson* steps = member_of(job, "steps");
      if (steps == nullptr || !steps->is_array()) continue;
      has_steps = true;
      size_t number = 0;
      for (const OrderedJson& step : *steps) {
        Surroundings around{.place = cat(name, "/", ++number)};
        see_runner(job, around);
        for (const OrderedJson* owner : {&workflow, &job, &step}) {
          add_settings(member_of(*owner, "env"), around);
          const OrderedJson* run = member_at(*owner, {"defaults", "run"});
          const std::string folder = text_at(run == nullptr ? *owner : *run, "working-directory");
          if (!folder.empty()) around.folder = folder;
        }
        take_step(text_at(step, "run"), values, around);
      }
    }
    return has_steps;
  }

  void take_step(const std::string& run, Values values, Surroundings& around) {
    for (std::string& setting : around.settings) {
      setting = filled_in(setting, "${{", "}}", values, around.expressions);
      const size_t equals = setting.find('=');
      values["env." + setting.substr(0, equals)] = setting.substr(equals + 1);
    }
    const std::string text = filled_in(run, "${{", "}}", values, around.expressions);
    take_text(text, around);
  }

  // GitHub's own machines with Linux or Windows have no GPU.
  static void see_runner(const OrderedJson& job, Surroundings& around) {
    const OrderedJson* runner = member_of(job, "runs-on");
    const std::string labels = runner == nullptr ? "" : lower_ascii(to_text(*runner));
    if (labels.find("gpu") != labels.npos || labels.find("cuda") != labels.npos) {
      around.gpus = "all";
    } else {
      around.has_no_gpu = labels.starts_with("\"ubuntu-") || labels.starts_with("\"windows-");
    }
    const OrderedJson* options = member_at(job, {"container", "options"});
    if (options == nullptr || !options->is_string()) return;
    std::vector<std::string> words = {"docker", "run"};
    for (const ShellCommand& command : shell_commands(options->get<std::string>())) {
      words.insert(words.end(), command.words.begin(), command.words.end());
    }
    words.insert(words.end(), {"image", "python", "train.py"});
    const std::optional<Launch> launch = find_launch(words);
    if (launch && launch->device == AskedDevice::kGpu) around.gpus = launch->visible;
  }

  // Adds variables: a mapping, or a list of "NAME=value".
  static void add_settings(const OrderedJson* variables, Surroundings& around) {
    if (variables == nullptr) return;
    for (const auto& [name, value] : variables->items()) {
      const bool is_item = variables->is_array();
      if (is_item && value.is_object()) {  // of a container
        const std::string own = text_at(value, "name");
        const OrderedJson* set = member_of(value, "value");
        if (set != nullptr) around.settings.push_back(cat(own, "=", option_text(*set)));
      } else if (value.is_string()) {
        const std::string text = value.get<std::string>();
        if (!is_item || is_assignment(text)) {
          around.settings.push_back(is_item ? text : cat(name, "=", text));
        }
      }
    }
  }

  static void see_amounts(const OrderedJson* resources, Surroundings& around) {
    for (const char* kind : {"requests", "limits"}) {
      const OrderedJson* amounts = resources == nullptr ? nullptr : member_of(*resources, kind);
      if (amounts == nullptr) continue;
      if (const OrderedJson* gpus = member_of(*amounts, "nvidia.com/gpu")) {
        around.gpus = option_text(*gpus);
      }
      if (const OrderedJson* tpus = member_of(*amounts, "google.com/tpu")) {
        around.tpus = option_text(*tpus);
      }
    }
  }

  void take(const OrderedJson& container, Surroundings around, const char* amounts = "resources") {
    see_amounts(member_of(container, amounts), around);
    std::vector<std::string> words = words_of(container, "command");
    const std::vector<std::string> arguments = words_of(container, "args");
    words.insert(words.end(), arguments.begin(), arguments.end());
    if (words.empty()) return;
    add_settings(member_of(container, "env"), around);
    around.folder = text_at(container, "workingDir");
    take_words(std::move(words), around);
  }

  // The commands of a text that a shell reads.
  void take_text(const std::string& text, Surroundings around) {
    Values variables;
    for (const std::string& setting : around.settings) {
      const size_t equals = setting.find('=');
      variables[setting.substr(0, equals)] = setting.substr(equals + 1);
    }
    around.is_text = true;
    ScriptOrigins origins(around.folder);
    for (ShellCommand& command : shell_commands(text, variables)) {
      origins.note(command);
      take_command(std::move(command), around, origins);
    }
  }

  void take_command(ShellCommand command, const Surroundings& around,
                    const ScriptOrigins& origins) {
    command.earlier_settings.insert(command.earlier_settings.begin(), around.settings.begin(),
                                    around.settings.end());
    std::vector<ShellCommand> commands;
    if (!launch_of(command)) commands = inner_commands(command);
    if (commands.empty()) commands.push_back(std::move(command));
    for (ShellCommand& one : commands) {
      std::optional<Launch> launch = launch_of(one);
      if (!launch) continue;
      launch->origin = origins.of(*launch);
      add(std::move(one), std::move(*launch), around);
    }
  }

  // Replicas that run the same words, such as Master and Worker, are machines of one job.
  void add(ShellCommand command, Launch launch, const Surroundings& around) {
    std::string key = around.place + '\n';
    for (const std::string& word : command.words) key += word + '\n';
    const bool has_gpus = !around.gpus.empty() && around.gpus != "0";
    if (has_gpus) {
      launch.see_gpus(around.gpus);
    } else if (!around.tpus.empty()) {
      launch.device = AskedDevice::kTpu;
    } else if (around.has_no_gpu && launch.device == AskedDevice::kNotSaid) {
      launch.device = AskedDevice::kCpu;
    }
    if (launch.launcher == "torchrun" && launch.processes.empty()) {
      const bool is_of_gpus = has_gpus && (around.processes == "auto" || around.processes == "gpu");
      launch.processes = is_of_gpus ? around.gpus : around.processes;
    }
    if (launch.launcher == "mpirun" && launch.machines.empty() && around.mpi_workers > 1) {
      launch.machines = std::to_string(around.mpi_workers);
    }
    launch.remarks.insert(launch.remarks.end(), around.remarks.begin(), around.remarks.end());
    for (const auto& [name, expression] : around.expressions) {
      const bool is_used = std::ranges::any_of(command.words, [&](const std::string& word) {
        return word.find(name) != std::string::npos;
      });
      if (!is_used) continue;
      launch.refuse(expression, "is filled in when the file starts the job; write its value there");
    }
    replicas_[key] += around.replicas;
    jobs_.try_emplace(key, ManifestLaunch{std::move(command), std::move(launch), around.is_text});
  }

  std::map<std::string, ManifestLaunch> jobs_;
  std::map<std::string, int64_t> replicas_;
  Values parameters_;
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

// Whether a pasted text is a manifest: it begins with a key of one, and has the others.
bool is_manifest(std::string_view text) {
  using Keys = std::array<std::string_view, 2>;
  constexpr Keys kKinds[] = {{"run:", "resources:"}, {"apiVersion:", "kind:"},
                             {"jobs:", "on:"},       {"services:", ""},
                             {"stages:", ""},        {"workerPoolSpecs:", ""}};
  const auto has_line = [&](std::string_view key) {
    return text.starts_with(key) || text.find(cat("\n", key)) != text.npos;
  };
  size_t begin = 0;  // of the first line that is no comment
  while (begin < text.size() &&
         (text[begin] == '#' || text[begin] == '\n' || text.substr(begin).starts_with("---"))) {
    begin = std::min(text.find('\n', begin), text.size() - 1) + 1;
  }
  const std::string_view word = text.substr(begin, text.find_first_of(": \n", begin) - begin);
  const bool begins_with_key = !word.empty() && text.substr(begin + word.size()).starts_with(':');
  return begins_with_key && std::ranges::any_of(kKinds, [&](const Keys& keys) {
           return has_line(keys[0]) && has_line(keys[1]);
         });
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

// Says what a file of YAML is that starts nothing. Returns where it may be a manifest.
void check_kind(const std::vector<OrderedJson>& documents, const std::string& path) {
  constexpr std::array<const char*, 12> kFields = {
      "kind",  "apiVersion",      "spec",    "services",  "stages",        "jobs",
      "steps", "workerPoolSpecs", "jobSpec", "resources", "trainingInput", "run"};
  for (const OrderedJson& document : documents) {
    if (member_of(document, "base_model") != nullptr && member_of(document, "task") != nullptr) {
      refuse_autotrain(path);
    }
    for (const char* field : kFields) {
      if (member_of(document, field) != nullptr) return;
    }
  }
  throw Error(Code::kUsage, "the file is no manifest, and starts nothing", path,
              "explain the command line that reads it, and write its options as flags");
}

}  // namespace

void refuse_autotrain(const std::string& where) {
  throw Error(Code::kUsage, "a configuration of AutoTrain is not read", where,
              "write base_model as --model, data.path as --train-data-file, lr as --learning-rate. "
              "AutoTrain also stops early by a threshold that berth does not have");
}

std::vector<ManifestLaunch> find_manifest_jobs(std::span<const std::string> words, bool is_text,
                                               const ExplainOptions& options) {
  std::vector<std::string> line(words.begin(), words.end());
  const bool is_pasted = is_text && is_manifest(words[0]);
  if (is_pasted) line = {"the text"};
  if (is_text && !is_pasted) {
    std::vector<ShellCommand> commands = shell_commands(words[0]);
    if (commands.empty()) return {};
    const auto job = std::ranges::find_if(
        commands, [](const ShellCommand& command) { return starts_job(command.words); });
    line = std::move(job == commands.end() ? commands[0].words : job->words);
  }
  if (line.empty()) return {};
  ManifestReader reader;
  std::vector<OrderedJson> documents;  // of a file
  const bool is_file = !is_pasted && line.size() == 1 && is_manifest_name(line[0]);
  if (is_file && options.read_file) {
    const std::optional<std::string> text = options.read_file(line[0]);
    if (!text) throw Error(Code::kNotFound, "no such file", line[0], "name a manifest");
    const std::string parameters = line[0].substr(0, line[0].rfind('/') + 1) + "params.yaml";
    if (last_part(line[0]) == "dvc.yaml") {
      if (const auto values = options.read_file(parameters)) reader.read_parameters(*values);
    }
    documents = parse_yaml(*text);
    for (const OrderedJson& document : documents) reader.read_document(document);
  } else if (is_pasted) {
    for (const OrderedJson& document : parse_yaml(words[0])) reader.read_document(document);
  } else if (!starts_job(line)) {
    return {};
  } else if (is_one_of(line, "ai")) {
    read_gcloud(line, options, reader);
  } else {
    read_ai_platform(line, reader);
  }
  std::vector<ManifestLaunch> jobs = reader.jobs();
  if (jobs.empty()) {
    if (is_file) check_kind(documents, line[0]);
    throw Error(Code::kUsage, "no container starts a training script", line[0],
                is_file || is_pasted
                    ? "name a container whose command and args start one, or explain the "
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
