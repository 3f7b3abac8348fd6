#include "entrypoint/explain/explain.h"

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "entrypoint/explain/explainer.h"
#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/option_files.h"
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

}  // namespace

Explanation explain(std::span<const std::string> words, const ExplainOptions& given) {
  ExplainOptions options = given;
  words = without_options(words, options);
  const bool is_text = words.size() == 1 && words[0].find_first_of(" \t\n") != std::string::npos;
  std::vector<ShellCommand> commands;
  if (is_text) {
    commands = shell_commands(words[0]);
  } else {
    commands.push_back({.words = {words.begin(), words.end()}});
    split_environment(commands[0]);
  }
  Explanation explanation;
  for (const ShellCommand& command : commands) {
    std::optional<Launch> launch = find_launch(command.words);
    if (!launch) continue;
    read_environment(command.environment, *launch);
    read_option_files(options.read_file, *launch);
    append(explain_launch(command, *launch, is_text, options), explanation);
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
