#include "entrypoint/explain/explain.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "entrypoint/explain/explainer.h"
#include "entrypoint/explain/garden_experiment.h"
#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/manifest.h"
#include "entrypoint/explain/option_files.h"
#include "entrypoint/explain/preparation.h"
#include "entrypoint/explain/python_job.h"
#include "entrypoint/explain/python_reader.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr uint64_t kMostDevices = 1024;
constexpr uint64_t kLargestFile = uint64_t{16} << 20;

std::optional<std::string> read_local_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const uint64_t size = fs::file_size(path, error);
  if (error) return std::nullopt;
  if (size > kLargestFile) {
    throw Error(Code::kUsage, "the file is larger than 16 MiB", path, "name a smaller one");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  if (file.gcount() != static_cast<std::streamsize>(size)) return std::nullopt;
  return text;
}

int64_t parse_devices(const std::string& text) {
  const std::optional<uint64_t> number = parse_number(text);
  if (!number || *number == 0 || *number > kMostDevices) {
    throw Error(Code::kUsage, quoted(text) + " is not a number from 1 to 1024", "explain --devices",
                "say how many devices the line was written for");
  }
  return static_cast<int64_t>(*number);
}

// Takes --devices N from the front of the words, where more words follow.
std::span<const std::string> without_options(std::span<const std::string> words,
                                             ExplainOptions& options) {
  constexpr std::string_view kFlag = "--devices";
  if (words.size() > 1 && words[0].starts_with("--devices=")) {
    options.devices = parse_devices(words[0].substr(kFlag.size() + 1));
    return words.subspan(1);
  }
  if (words.size() > 2 && words[0] == kFlag) {
    options.devices = parse_devices(words[1]);
    return words.subspan(2);
  }
  return words;
}

void append(Explanation part, Explanation& whole) {
  whole.text += (whole.text.empty() ? "" : "\n") + part.text;
  for (std::string& flag : part.refused) whole.refused.push_back(std::move(flag));
}

// Whether the line has the flag that the remark is about, or one that its sentence asks for: "add
// --model NAME to the line".
bool is_answered(const LaunchRemark& remark, const std::vector<std::string>& flags) {
  std::string name = remark.word;
  std::ranges::replace(name, '_', '-');
  const std::string sentence = cat("--", name, " ", remark.text);
  return std::ranges::any_of(flags, [&](const std::string& word) {
    if (!word.starts_with("--")) return false;
    std::string flag = word.substr(0, word.find('='));
    std::ranges::replace(flag, '_', '-');
    const size_t at = sentence.find(flag);
    const size_t end = at + flag.size();
    return at != std::string::npos &&
           (end == sentence.size() ||
            std::string_view(" ,;").find(sentence[end]) != std::string::npos);
  });
}

// A program that is no known script may be a file here, which says what it trains. Flags of the
// line follow what the file says. Leaves other launches as they are.
void read_program(const ExplainOptions& options, Launch& launch) {
  if (!options.read_file || launch.path.empty() || is_known_script(launch.script)) return;
  const std::optional<std::string> text = options.read_file(launch.path);
  if (!text) return;
  const bool is_notebook = launch.path.ends_with(".ipynb");
  const TypedCommand typed(launch.flags);
  std::optional<Launch> job = find_python_job(is_notebook ? notebook_program(*text) : *text,
                                              typed.value("model").value_or(""));
  if (!job) return;
  launch.script = job->script;
  for (LaunchRemark& remark : job->remarks) {
    if (!is_answered(remark, launch.flags)) launch.remarks.push_back(std::move(remark));
  }
  std::vector<std::string> flags = std::move(job->flags);
  flags.insert(flags.end(), launch.flags.begin(), launch.flags.end());
  launch.flags = std::move(flags);
}

// The commands, and in place of one that starts no script those in its words.
std::vector<ShellCommand> with_inner_commands(std::vector<ShellCommand> commands) {
  std::vector<ShellCommand> all;
  for (ShellCommand& command : commands) {
    const bool starts = launch_of(command).has_value();
    std::vector<ShellCommand> inner =
        starts ? std::vector<ShellCommand>() : inner_commands(command);
    if (inner.empty()) {
      all.push_back(std::move(command));
    } else {
      std::ranges::move(inner, std::back_inserter(all));
    }
  }
  return all;
}

// The first script of a shell that a command runs; empty: there is none.
std::string shell_script_in(const std::vector<ShellCommand>& commands) {
  for (const ShellCommand& command : commands) {
    for (const std::string& word : command.words) {
      if (word.ends_with(".sh") && word.find(' ') == std::string::npos) return word;
    }
  }
  return "";
}

void read_files(const ExplainOptions& options, Launch& launch) {
  read_experiment(options.read_file, launch);
  read_program(options, launch);
  read_option_files(options.read_file, launch);
}

// The explanation of each command that trains. It also names the commands that may prepare files
// for the training: the shell and its tools, and scripts with such a name beside a known script.
Explanation explain_commands(const std::vector<ShellCommand>& commands, bool is_text,
                             const ExplainOptions& options) {
  const bool knows_one = std::ranges::any_of(commands, [](const ShellCommand& command) {
    const std::optional<Launch> launch = launch_of(command);
    return launch && is_known_script(launch->script);
  });
  Explanation explanation;
  std::string preparations;
  for (const ShellCommand& command : commands) {
    std::optional<Launch> launch = launch_of(command);
    std::string preparation = launch ? "" : preparation_in(command);
    const bool is_script =
        launch && knows_one && !is_known_script(launch->script) && prepares_files(launch->script);
    if (is_script) preparation = launch->path;
    if (!preparation.empty()) {
      preparations += cat(preparation, " may prepare files; berth does not do its work\n");
    } else if (launch) {
      read_files(options, *launch);
      append(explain_launch(command, *launch, is_text, options), explanation);
    }
  }
  if (!explanation.text.empty() && !preparations.empty()) {
    append({.text = preparations, .refused = {}}, explanation);
  }
  return explanation;
}

// The explanation of each container, and its args for the manifest.
Explanation explain_manifest(const std::vector<ManifestLaunch>& jobs,
                             const ExplainOptions& options) {
  Explanation explanation;
  for (ManifestLaunch job : jobs) {
    read_files(options, job.launch);
    Explanation part = explain_launch(job.command, job.launch, true, options);
    part.text += manifest_args(part.text);
    append(std::move(part), explanation);
  }
  return explanation;
}

}  // namespace

Explanation explain(std::span<const std::string> words, const ExplainOptions& given) {
  ExplainOptions options = given;
  words = without_options(words, options);
  const bool is_text = words.size() == 1 && words[0].find_first_of(" \t\n") != std::string::npos;
  if (const std::vector<ManifestLaunch> jobs = find_manifest_jobs(words, is_text, options);
      !jobs.empty()) {
    return explain_manifest(jobs, options);
  }
  std::vector<ShellCommand> commands;
  if (is_text) {
    commands = shell_commands(words[0]);
  } else {
    commands.push_back({.words = {words.begin(), words.end()}});
    split_environment(commands[0]);
  }
  const std::string script_of_shell = shell_script_in(commands);
  Explanation explanation =
      explain_commands(with_inner_commands(std::move(commands)), is_text, options);
  if (explanation.text.empty() && !script_of_shell.empty()) {
    throw Error(Code::kUsage, "the training is started by another file", script_of_shell,
                cat("explain its text: berth explain - < ", script_of_shell));
  }
  if (explanation.text.empty()) {
    throw Error(Code::kUsage, "there is no training script to explain", "explain",
                "give its command line between single quotes: berth explain 'python run_glue.py "
                "--task_name mrpc ...'");
  }
  return explanation;
}

void print_explanation(std::span<const char* const> words) {
  std::vector<std::string> texts(words.begin(), words.end());
  if (!texts.empty() && texts.back() == "-") {
    texts.back().assign(std::istreambuf_iterator<char>(std::cin), {});
    texts.back() += '\n';
  }
  const Explanation explanation = explain(texts, {.devices = {}, .read_file = read_local_file});
  StandardOutput output;
  output.write(as_bytes(explanation.text));
  output.close();
  if (explanation.refused.empty()) return;
  std::string names;
  for (const std::string& flag : explanation.refused) {
    names += (names.empty() ? "" : ", ") + flag;
  }
  throw Error(Code::kUsage, "the line does not do all that was asked", names,
              "its explanation says what to change");
}

}  // namespace berth
