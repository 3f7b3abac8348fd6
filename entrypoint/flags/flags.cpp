#include "entrypoint/flags/flags.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#define CXXOPTS_NO_REGEX  // std::regex recurses for each character, so a long value would overflow
                          // the stack
#include <cxxopts.hpp>

#include "entrypoint/flags/command_line.h"
#include "entrypoint/flags/flag_rules.h"
#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flag_value.h"
#include "entrypoint/flags/foreign/translation.h"
#include "entrypoint/platform/program_files.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/google/local_text.h"
#include "storage/storage.h"
#include "trainer/model/task.h"

namespace berth {
namespace {

constexpr std::string_view kFlagFile = "--flagfile";

// Adds the flag in `line`, the one of this number in `file`.
void add_line(std::string_view line, size_t number, const std::string& file,
              std::vector<std::string>& arguments) {
  line = trimmed(line);
  if (line.empty() || line.starts_with('#') || line.starts_with("//")) return;
  const std::string place = cat(file, ": line ", number);
  if (!line.starts_with("--")) {
    throw Error(Code::kUsage, cat(quoted(line), " is not a flag"), place,
                "write one flag a line, as --name=value");
  }
  const size_t name_end = std::min(line.find_first_of(" \t="), line.size());
  if (line.substr(0, name_end) == kFlagFile) {
    throw Error(Code::kUsage, "a file of flags cannot name another one", place,
                "give --flagfile once for each file");
  }
  if (name_end == line.size() || line[name_end] == '=') {
    arguments.emplace_back(line);
  } else {
    arguments.emplace_back(line.substr(0, name_end));
    arguments.emplace_back(trimmed(line.substr(name_end)));
  }
}

std::vector<std::string> flags_in(const std::string& file) {
  const std::optional<LocalText> read = read_local_text(file);
  if (!read) {
    throw Error(Code::kNotFound, "there is no such file", cat(kFlagFile, " ", file),
                "the file of flags must be on the local disk");
  }
  std::vector<std::string> flags;
  std::string_view rest = read->text;
  for (size_t number = 1; !rest.empty(); ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    add_line(rest.substr(0, end), number, file, flags);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return flags;
}

// Replaces each `--flagfile FILE` by the flags in the local file FILE, as Abseil does. So each task
// of an Indexed Job can have flags of its own. `home` is the user's home directory.
//
// A line is one flag: `--name=value`, `--name value` or `--name`. The value reaches to the end of
// the line and is not unquoted. Empty lines and lines that begin with # or // are passed over. A
// file cannot name another one.
//
// `notes` receives one sentence for each file, with its flags. Throws kUsage on a line that is not
// a flag, on a missing name, and on a path that parse_path() refuses. Throws kNotFound if there is
// no such file.
std::vector<std::string> expand_flag_files(std::span<const char* const> arguments,
                                           const std::string& home,
                                           std::vector<std::string>& notes) {
  std::vector<std::string> expanded;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    std::string file;
    if (argument == kFlagFile && i + 1 < arguments.size()) {
      file = arguments[++i];
    } else if (argument.starts_with(kFlagFile) &&
               argument.substr(kFlagFile.size()).starts_with('=')) {
      file = argument.substr(kFlagFile.size() + 1);
    } else if (argument != kFlagFile) {
      expanded.emplace_back(argument);
      continue;
    }
    if (file.empty()) throw Error(Code::kUsage, "the flag needs a value", std::string(kFlagFile));
    file = parse_path(file, home);
    const std::vector<std::string> flags = flags_in(file);
    std::string note = cat("the flags in ", file, ":");
    for (const std::string& flag : flags) note += " " + flag;
    notes.push_back(std::move(note));
    expanded.insert(expanded.end(), flags.begin(), flags.end());
  }
  return expanded;
}

// A device, and the flag that asks for it.
struct Wish {
  DeviceKind kind;
  std::string flag;
};

[[noreturn]] void refuse(const std::string& one, const std::string& other) {
  throw Error(Code::kUsage, cat(one, " and ", other, " ask for different devices"), "",
              "leave one of them out");
}

std::string text_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kAuto:
      return "--device auto";
    case DeviceKind::kCpu:
      return "--device cpu";
    case DeviceKind::kTpu:
      return "--device tpu";
    case DeviceKind::kGpu:
      return "--device gpu";
    case DeviceKind::kXlaCpu:
      return "--device xla-cpu";
  }
  return "";
}

// The devices that the flags of TensorFlow ask for. --num-gpus 0 comes last: with a TPU it asks for
// nothing.
std::vector<Wish> wishes(const DeviceOptions& options) {
  std::vector<Wish> found;
  const std::string strategy = "--distribution-strategy ";
  if (options.strategy == Strategy::kTpu) found.push_back({DeviceKind::kTpu, strategy + "tpu"});
  if (options.strategy == Strategy::kGpu) found.push_back({DeviceKind::kGpu, strategy + "gpu"});
  if (!options.tpu.empty()) found.push_back({DeviceKind::kTpu, "--tpu"});
  if (options.num_gpus > 0) {
    found.push_back({DeviceKind::kGpu, cat("--num-gpus ", *options.num_gpus)});
  }
  const bool wants_tpu = !found.empty() && found[0].kind == DeviceKind::kTpu;
  if (options.num_gpus == 0 && !wants_tpu) found.push_back({DeviceKind::kCpu, "--num-gpus 0"});
  return found;
}

DeviceKind chosen_kind(const CommandLine& command_line) {
  const DeviceKind asked = command_line.settings.device;
  const std::vector<Wish> wanted = wishes(command_line.device);
  for (const Wish& wish : wanted) {
    if (wish.kind != wanted[0].kind) refuse(wanted[0].flag, wish.flag);
    const bool is_no_gpu = wish.kind == DeviceKind::kCpu && asked != DeviceKind::kGpu;
    if (asked != DeviceKind::kAuto && asked != wish.kind && !is_no_gpu) {
      refuse(wish.flag, text_of(asked));
    }
  }
  return asked == DeviceKind::kAuto && !wanted.empty() ? wanted[0].kind : asked;
}

int64_t settled_count(const DeviceOptions& options) {
  int64_t count = options.devices;
  const auto also = [&](int64_t other, const std::string& flag) {
    if (count > 0 && count != other) {
      throw Error(Code::kUsage, cat(flag, " asks for ", other, ", and another flag for ", count),
                  "--devices", "leave one of them out");
    }
    count = other;
  };
  if (options.num_gpus > 0) also(*options.num_gpus, "--num-gpus");
  if (options.strategy == Strategy::kOneDevice) also(1, "--distribution-strategy");
  return count;
}

constexpr int64_t kPort = 29500;  // PyTorch's

// Throws kUsage where a flag asks for something that only one worker does.
void require_shared_work(const CommandLine& command_line) {
  if (command_line.settings.training.seeds == 1) return;
  throw Error(Code::kUsage,
              cat("the flag needs one worker, and this job has ", *command_line.cluster.size),
              "--seeds", "leave it out, or give --world-size 1");
}

void settle_device_of_workers(CommandLine& command_line) {
  DeviceKind& device = command_line.settings.device;
  if (device == DeviceKind::kAuto) {
    device = DeviceKind::kCpu;
    command_line.notes.push_back("device: CPU, because several workers were asked for");
  }
  if (device == DeviceKind::kCpu) return;
  command_line.settings.training.place.cuts_updates = false;
  command_line.notes.push_back(
      "several workers with TPUs or GPUs are experimental: no such job has been tried");
}

int64_t require_rank(const ClusterOptions& options) {
  if (!options.rank) {
    throw Error(
        Code::kUsage,
        cat("there are ", *options.size, " workers, and nothing says which of them this one is"),
        "--rank", "give each worker a number from 0 on");
  }
  if (*options.rank < *options.size) return *options.rank;
  throw Error(Code::kUsage,
              cat("is ", *options.rank, ", and the ", *options.size,
                  " workers have the numbers 0 to ", *options.size - 1),
              "--rank", "give each worker a number of its own");
}

// Turns --distribution-strategy, --tpu and --num-gpus into settings.device and device.devices.
// Throws kUsage where they contradict each other, --device or --devices. Looks at no device.
void settle_device(CommandLine& command_line) {
  command_line.settings.device = chosen_kind(command_line);
  command_line.device.devices = settled_count(command_line.device);
}

// Completes `command_line.cluster` by what the platform says, and sets the place of this worker and
// the device in the settings. Modes that neither train nor run a model over rows ignore the other
// workers, and so does a run inside a job.
//
// Throws kUsage in five cases. The launcher gives a range of workers and no flag does. This
// worker's number is missing, or no number of a worker. Nothing says how to find worker 0. The
// platform gives this process another part than a worker's. Only one worker can do the job.
void settle_cluster(CommandLine& command_line, const ClusterPlace& platform) {
  ClusterOptions& options = command_line.cluster;
  const ModeTraits& mode = traits(command_line.settings.mode);
  if (command_line.parent_process > 0 || !(mode.trains() || mode.runs_finished_model())) {
    options.size = 1;
    return;
  }
  if (!options.size) {
    if (!platform.other_role.empty()) {
      throw Error(Code::kUsage,
                  cat("the environment makes this process a ", quoted(platform.other_role),
                      ", and berth has only workers that train"),
                  "", "start the chief and the workers alone");
    }
    options.size = options.most > 0 ? options.most : platform.size;
    if (!options.size && !platform.size_range.empty()) {
      throw Error(Code::kUsage,
                  cat("PET_NNODES is ", platform.size_range, ", and nothing numbers the workers"),
                  "",
                  cat("start them with --elastic ", platform.size_range,
                      " and --rank, or fix their number"));
    }
  }
  if (options.most > 0 && options.most != options.size) {
    throw Error(Code::kUsage,
                cat("names ", options.most, " workers, and --world-size ", *options.size),
                "--elastic", "leave --world-size out");
  }
  if (options.size.value_or(1) == 1) return;
  options.secret = platform.secret;
  if (!options.rank) options.rank = platform.rank;
  if (options.leader_host.empty()) options.leader_host = platform.leader_host;
  if (!options.leader_port) options.leader_port = platform.leader_port;
  if (!options.leader_port && !options.leader_host.empty()) options.leader_port = kPort;
  const int64_t rank = require_rank(options);
  if (mode.trains()) {
    command_line.settings.training.place = {.rank = rank, .size = *options.size};
    require_shared_work(command_line);
  }
  settle_device_of_workers(command_line);
  if (options.leader_host.empty() && command_line.settings.output.job_dir.empty()) {
    throw Error(Code::kUsage, "nothing says how the workers find worker 0", "--master-addr",
                "give all of them its address, or a --job-dir that they share");
  }
}

#if CXXOPTS__VERSION_MAJOR > 3 || (CXXOPTS__VERSION_MAJOR == 3 && CXXOPTS__VERSION_MINOR >= 1)
using MalformedArguments = cxxopts::exceptions::exception;
#else
using MalformedArguments = cxxopts::OptionException;
#endif

// Maps the canonical name of a flag to what was typed.
using Typed = std::map<std::string, std::string>;

// `command` begins with the mode that `word` names. Throws kUsage if a flag names another one.
void require_one_mode(const std::string& word, const TypedCommand& command) {
  const std::vector<TypedArgument>& arguments = command.arguments();
  for (const TypedArgument& argument : std::span(arguments).subspan(1)) {
    if (argument.own != arguments.front().own || argument.values.empty()) continue;
    if (mode_of_word(argument.values[0]) == arguments.front().values[0]) continue;
    throw Error(Code::kUsage, cat("the word ", quoted(word), " names another mode"),
                argument.tokens[0], "leave one of them out");
  }
}

// The arguments, and those in files of flags, in berth's own flags. `notes` receives what became of
// other programs' flags. Throws kUsage on such a flag that berth does without.
TypedCommand own_command(std::span<const char* const> arguments, const std::string& home,
                         std::vector<std::string>& notes) {
  std::vector<std::string> typed = expand_flag_files(arguments, home, notes);
  const std::string word = typed.empty() ? "" : typed.front();
  const std::string mode = mode_of_word(word);
  if (!mode.empty()) typed.front() = "--mode=" + mode;
  Translation translation = translate(TypedCommand(typed));
  if (!mode.empty()) require_one_mode(word, translation.command);
  if (mode == "train") {
    notes.emplace_back(
        "berth train trains on all rows and evaluates nothing, as --mode train does; without the "
        "word, a training holds out rows and evaluates on them");
  }
  for (const Remark& remark : translation.remarks) {
    if (remark.refused) throw Error(Code::kUsage, remark.text, remark.flag);
    notes.push_back(cat(remark.flag, " ", remark.text));
  }
  return std::move(translation.command);
}

// The line for cxxopts, behind a program name: each flag as --name=value. `spellings` receives what
// was typed for each flag, for errors. Throws kUsage on an unknown flag, and on a value that is
// missing or too much.
std::vector<std::string> canonical_line(const TypedCommand& command, Typed& spellings) {
  std::vector<std::string> line = {"berth"};
  for (const TypedArgument& argument : command.arguments()) {
    const std::string& first = argument.tokens[0];
    if (argument.own == nullptr && first.starts_with("--")) {
      look_up_flag(std::string_view(first).substr(2, first.find('=') - 2));  // says what is wrong
    }
    if (argument.own == nullptr) {
      line.insert(line.end(), argument.tokens.begin(), argument.tokens.end());
      continue;
    }
    const std::string name = "--" + argument.own->name;
    std::string& spelling = spellings[argument.own->name];
    spelling = argument.typed == name ? name : cat(argument.typed, " (", name, ")");
    if (argument.values.empty()) throw Error(Code::kUsage, "the flag needs a value", spelling);
    if (argument.is_negated && first != argument.typed) {
      throw Error(Code::kUsage, "the flag takes no value", argument.typed);
    }
    line.push_back(cat(name, "=", argument.values[0]));
  }
  return line;
}

// What to type in place of an argument that belongs to no flag.
std::string hint_for_stray(const std::string& argument) {
  if (lower_ascii(argument) == "help") return "--help lists all flags";
  if (!mode_of_word(argument).empty()) {
    return cat("a mode stands before all flags, as in berth ", argument, ", or is a flag: --mode ",
               argument);
  }
  return "name every input with a flag, such as --train-data-file";
}

// Maps the canonical name of each flag to the last value given. cxxopts parses `line` and finds the
// arguments that belong to no flag. `further` receives what --mode inspect is to look into, --mode
// fetch to copy, or --mode report to compare, besides the value of --input.
Typed last_values(const std::vector<std::string>& line, std::vector<std::string>& further) {
  cxxopts::Options options("berth");
  for (const Flag& flag : flag_table()) {
    options.add_options()(flag.name, "", cxxopts::value<std::string>());
  }
  std::vector<const char*> argv;
  argv.reserve(line.size());
  for (const std::string& argument : line) argv.push_back(argument.c_str());
  Typed values;
  try {
    const auto parsed = options.parse(static_cast<int>(argv.size()), argv.data());
    for (const auto& argument : parsed.arguments()) {
      std::string& value = values[argument.key()];
      const bool adds = !value.empty() && find_flag(argument.key())->role.has(kMayRepeat);
      value = adds ? cat(value, "\n", argument.value()) : argument.value();
    }
    const auto mode = values.find("mode");
    if (mode != values.end() && takes_inputs(mode->second)) {
      further = parsed.unmatched();
      if (!further.empty() && !values.contains("input")) {
        values["input"] = further.front();
        further.erase(further.begin());
      }
    } else if (!parsed.unmatched().empty()) {
      throw Error(Code::kUsage, cat("unexpected argument ", quoted(parsed.unmatched()[0])), "",
                  hint_for_stray(parsed.unmatched()[0]));
    }
  } catch (const MalformedArguments&) {
    const auto dashed = std::ranges::find_if(line, [](const std::string& argument) {
      return argument.size() > 1 && argument[0] == '-' && argument[1] != '-';
    });
    throw Error(
        Code::kUsage,
        dashed == line.end() ? "malformed arguments" : cat("unexpected argument ", quoted(*dashed)),
        "", "write flags with two dashes");
  }
  return values;
}

// "gs://b/7/model/" -> "gs://b/7/".
std::string parent_of(std::string directory) {
  while (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  const size_t slash = directory.rfind('/');
  return slash == std::string::npos ? "." : directory.substr(0, slash + 1);
}

// All trials of a study get the same flags, so each trial writes below its own number. The
// directories that the platform names already contain the number, so a flag with one of them is not
// changed.
void append_trial(const Platform& platform, OutputOptions& output) {
  std::vector<std::string> own = {platform.checkpoint_dir, platform.tensorboard_log_dir};
  if (!platform.model_dir.empty()) own.push_back(parent_of(platform.model_dir));
  for (std::string* place :
       {&output.job_dir, &output.export_dir, &output.checkpoint_dir, &output.summary_dir}) {
    const bool has_trial = std::ranges::any_of(own, [&](const std::string& directory) {
      return !directory.empty() && place->starts_with(directory);
    });
    if (place->empty() || has_trial) continue;
    *place = (Uri::parse(*place) / platform.tuning.trial).to_string();
  }
}

// Completes `place`, which a flag has left empty, with the path that a variable of the platform
// holds. The path is read as a flag's.
void fall_back(const Platform& platform, const char* variable, const std::string& path,
               std::string& place) {
  if (!place.empty() || path.empty()) return;
  try {
    place = parse_path(path, platform.home);
  } catch (const Error& error) {
    throw error.at(variable);
  }
}

void complete_from(const Platform& platform, OutputOptions& output) {
  const bool names_job = !output.job_dir.empty() || platform.model_dir.empty();
  std::string model = names_job ? output.export_dir : "";
  fall_back(platform, "AIP_MODEL_DIR", platform.model_dir, model);
  if (!names_job) output.job_dir = parent_of(model);
  if (output.export_dir.empty()) output.export_dir = model;
  fall_back(platform, "AIP_CHECKPOINT_DIR", platform.checkpoint_dir, output.checkpoint_dir);
  fall_back(platform, "AIP_TENSORBOARD_LOG_DIR", platform.tensorboard_log_dir, output.summary_dir);
}

// Takes the platform's data if no flag names any data.
void complete_from(const Platform& platform, DataOptions& data) {
  if (!data.train_data_file.empty() || !data.eval_data_file.empty() ||
      !data.predict_data_file.empty() || !data.data_dir.empty()) {
    return;
  }
  fall_back(platform, "AIP_TRAINING_DATA_URI", platform.training_data, data.train_data_file);
  fall_back(platform, "AIP_VALIDATION_DATA_URI", platform.validation_data, data.eval_data_file);
  fall_back(platform, "AIP_TEST_DATA_URI", platform.test_data, data.predict_data_file);
}

// Takes the format of embeddings from the name of their file if no flag says it.
void settle_format(CommandLine& command_line) {
  if (command_line.gives("embeddings-format")) return;
  const std::string name = lower_ascii(command_line.tool.predictions_file);
  EmbeddingsFormat& format = command_line.settings.embedding.format;
  if (name.ends_with(".parquet")) format = EmbeddingsFormat::kParquet;
  if (name.ends_with(".jsonl")) format = EmbeddingsFormat::kJsonl;
}

// The mode of this name; null: there is none.
const ModeTraits* find_mode(std::string_view name) {
  const auto row = std::ranges::find(mode_table(), name, &ModeTraits::name);
  return row == mode_table().end() ? nullptr : &*row;
}

}  // namespace

bool takes_inputs(std::string_view mode) {
  const ModeTraits* const row = find_mode(mode);
  return row != nullptr && row->takes_inputs;
}

CommandLine parse_flags(std::span<const char* const> arguments, const Platform& platform) {
  CommandLine command_line;
  command_line.home = platform.home;
  const auto asks_for_help = [](std::string_view text) { return text == "--help" || text == "-h"; };
  if (std::ranges::any_of(arguments, asks_for_help)) {
    command_line.help = true;
    const ModeTraits* const named = find_mode(mode_of_word(arguments.front()));
    if (named != nullptr) command_line.help_mode = named->mode;
    return command_line;
  }
  Typed spellings;
  const TypedCommand command = own_command(arguments, platform.home, command_line.notes);
  const Typed values =
      last_values(canonical_line(command, spellings), command_line.tool.further_inputs);
  for (std::string& input : command_line.tool.further_inputs) {
    input = parse_path(input, platform.home);
  }
  for (const Flag& flag : flag_table()) {
    const auto given = values.find(flag.name);
    if (given == values.end()) continue;
    command_line.given.push_back(flag.name);
    try {
      flag.value.set(command_line, given->second);
    } catch (const Error& error) {
      throw error.at(spellings.at(flag.name));
    }
  }
  TrainingOptions& training = command_line.settings.training;
  if (training.token_budget > 0 && !values.contains("batch-size")) {
    training.batch_size = training.token_budget;  // no limit, because every example has a token
  }
  if (values.contains("save-steps") && !values.contains("save-minutes")) training.save_minutes = 0;
  const ModeTraits& mode = traits(command_line.settings.mode);
  if (mode.makes_vectors && !values.contains("precision")) {
    command_line.settings.precision = Precision::kFp32;  // others compare the vectors with theirs
  }
  if (command_line.highest_instruction_set.empty()) {
    command_line.highest_instruction_set = platform.instruction_set;
  }
  if (mode.trains() && !platform.tuning.trial.empty()) {
    append_trial(platform, command_line.settings.output);
  }
  const bool only_tells =
      command_line.version || command_line.help_markdown || command_line.help_json;
  if (!only_tells) complete_from(platform, command_line.settings.output);
  command_line.tuning = platform.tuning;
  command_line.mlflow = platform.mlflow;
  if (!only_tells) complete_from(platform, command_line.settings.data);
  command_line.device.environment = platform.accelerators;
  command_line.storage.credentials = platform.credentials;
  command_line.storage.emulator_host = platform.emulator_host;
  command_line.storage.http.authorities = find_authorities(platform.authorities);
  command_line.storage.hub = platform.hub;
  settle_device(command_line);
  if (only_tells) return command_line;
  settle_cluster(command_line, platform.cluster);
  settle_format(command_line);
  check_settings(command_line);
  return command_line;
}

std::vector<std::string> to_arguments(const CommandLine& command_line) {
  const CommandLine defaults;
  std::vector<std::string> arguments;
  for (const Flag& flag : flag_table()) {
    const std::string value = flag.value.get(command_line);
    if (value.empty() || value == flag.value.get(defaults)) continue;
    arguments.push_back(cat("--", flag.name, "=", value));
  }
  return arguments;
}

SettingsTable settings_table(const Settings& settings) {
  const CommandLine command_line{.settings = settings, .highest_instruction_set = ""};
  SettingsTable table;
  for (const Flag& flag : flag_table()) {
    if (!flag.role.is_recorded()) continue;
    std::string value = flag.value.get(command_line);
    const bool is_url = value.starts_with("http://") || value.starts_with("https://");
    if (is_url) value = Uri::parse(value).to_string();  // a query may hold a secret key
    table.push_back({.name = flag.name,
                     .value = std::move(value),
                     .effect = flag.role.effect_in(settings),
                     .marks = flag.role.marks});
  }
  return table;
}

}  // namespace berth
