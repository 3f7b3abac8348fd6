#include "entrypoint/explain/explain.h"

#include <algorithm>
#include <iostream>
#include <iterator>

#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/needed_files.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/flag_lookup.h"
#include "entrypoint/flags/flags.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// How many processes run at the same time; a text that is no number counts as one.
int64_t count_of(const std::string& text) {
  const std::optional<uint64_t> number = parse_number(text);
  return number && *number > 0 && *number <= 100'000 ? static_cast<int64_t>(*number) : 1;
}

int64_t processes_of(const Launch& launch) {
  return count_of(launch.processes) * (launch.counts_all ? 1 : count_of(launch.machines));
}

bool is_variable(const std::string& value) { return value.find('$') != std::string::npos; }

// Makes the explanation of one command.
class Explainer {
 public:
  Explainer(const ShellCommand& command, const Launch& launch, bool expands)
      : command_(command),
        launch_(launch),
        expands_(expands),
        typed_(launch.flags, processes_of(launch)),
        script_(find_script(launch.script, typed_)) {}

  void explain() {
    note_launch();
    if (script_ != nullptr && !script_->refused.empty()) {
      remarks_.push_back({std::string(script_->name), std::string(script_->refused), true});
      return;
    }
    Translation translation = translate(typed_);
    for (Remark& remark : translation.remarks) remarks_.push_back(std::move(remark));
    const TypedCommand translated(translation.arguments);
    takes_inputs_ = takes_inputs(translated.value("mode").value_or(""));
    for (const TypedArgument& argument : translated.arguments()) take(argument);
    predicts_afterwards_ = translation.predicts_afterwards;
    if (launch_.uses_tpu && !own_.has("device")) own_.set("device", "tpu");
    name_data_files(typed_, predicts_afterwards_, own_, remarks_);
    if (script_ != nullptr) add_defaults();
    check();
    const OwnCommand second_run = prediction();
    if (predicts_afterwards_) own_.remove("predict-data-file");
    text_ = own_.line(command_, expands_);
    if (predicts_afterwards_) {
      ShellCommand typed;
      typed.environment = command_.environment;
      text_ += second_run.line(typed, expands_);
    }
  }

  // The command lines, and below them what is said of flags.
  std::string text() const {
    std::string text = text_;
    if (!text.empty() && !remarks_.empty()) text += '\n';
    for (const Remark& remark : remarks_) {
      const char* const fate = is_left_out(remark) ? " is left out: " : " is refused: ";
      text += cat(remark.flag, remark.refused ? fate : " ", remark.text, "\n");
    }
    return text;
  }

  std::vector<std::string> refused() const {
    std::vector<std::string> flags;
    for (const Remark& remark : remarks_) {
      if (remark.refused) flags.push_back(remark.flag);
    }
    return flags;
  }

 private:
  // Whether the line does without a flag that stands in the way of one that does the same.
  bool is_left_out(const Remark& remark) const {
    return remark.refused && !text_.empty() && remark.flag.starts_with("--") &&
           !own_.has(remark.flag.substr(2));
  }

  void note_launch() {
    if (!launch_.script.empty() && script_ == nullptr) {
      remarks_.push_back(
          {launch_.script, "is unknown here; its flags are read as those of Trainer", false});
    }
    if (!launch_.processes.empty() && !parse_number(launch_.processes)) {
      remarks_.push_back(
          {launch_.processes, "processes are no number here, so --batch-size counts one", false});
    }
    if (count_of(launch_.machines) > 1) {
      remarks_.push_back({"--world-size",
                          "is to be added, with a --rank for each machine, if several machines are "
                          "to train together on CPUs",
                          false});
    }
  }

  void take(const TypedArgument& argument) {
    if (argument.own != nullptr) follows_unknown_ = false;
    const std::string& first = argument.tokens[0];
    if (argument.own == nullptr && takes_inputs_ && !first.starts_with("--") && !follows_unknown_) {
      own_.add_input(first);
    } else if (argument.own == nullptr) {
      refuse(first);
    } else if (argument.values.empty()) {
      remarks_.push_back({argument.typed, "the flag needs a value", true});
    } else {
      own_.set(argument.own->name, argument.values[0]);
    }
  }

  // For a word that is no known flag: an unknown one, its values, or what stands alone.
  void refuse(const std::string& word) {
    if (!word.starts_with("--")) {
      const bool is_options = word.ends_with(".json") || word.ends_with(".yaml");
      const char* advice = is_options ? "berth reads no file of options; write them as flags"
                                      : "berth names every input by a flag";
      if (!follows_unknown_) remarks_.push_back({word, advice, true});
      return;
    }
    const std::string flag = word.substr(0, word.find('='));
    follows_unknown_ = true;
    try {
      look_up_flag(std::string_view(flag).substr(2));
    } catch (const Error& error) {
      remarks_.push_back({flag, cat(error.problem(), "; ", error.hint()), true});
    }
  }

  bool lacks(std::string_view flag) const {
    if (own_.has(flag)) return false;
    if (flag == "warmup-ratio") return !own_.has("warmup-steps");
    if (flag == "batch-size") return !own_.has("token-budget");
    if (flag == "attend-across-documents") return !own_.has("line-by-line");
    if (flag == "do-lower-case") return own_.has("vocab-file");
    if (flag != "validation-split") return true;
    const bool has_rows = own_.has("eval-data-file") || typed_.value("dataset_name");
    return !has_rows && own_.value("mode") != "train";
  }

  // Adds the script's defaults where they are not berth's.
  void add_defaults() {
    std::string added;
    const auto add = [&](std::string_view flag, std::string value) {
      own_.set(flag, std::move(value));
      added += " " + flag_text(own_.settings().back(), expands_);
    };
    const int64_t micro_batches = count_of(own_.value("gradient-accumulation-steps").value_or("1"));
    const bool is_trainer = std::ranges::any_of(
        script_->defaults, [](const ScriptDefault& row) { return row.flag == "weight-decay"; });
    const int64_t factor = micro_batches * processes_of(launch_);
    if (is_trainer && own_.trains() && factor > 1 && lacks("batch-size")) {
      add("batch-size", std::to_string(8 * factor));
    }
    for (const ScriptDefault& row : script_->defaults) {
      if (!lacks(row.flag) || (row.trains && !own_.trains())) continue;
      add(row.flag, row.value.empty() ? "true" : std::string(row.value));
    }
    if (!added.empty()) {
      remarks_.push_back(
          {"added:",
           cat(added.substr(1), ", which is what ", script_->name, " does without a flag"), false});
    }
    const bool asks_for_fp16 = typed_.value("fp16").has_value();
    if (is_trainer && own_.trains() && lacks("precision") && !asks_for_fp16) {
      remarks_.push_back({"--precision",
                          cat("is auto without the flag: berth multiplies in bf16 where the device "
                              "can, and ",
                              script_->name, " in fp32, as --precision fp32 does"),
                          false});
    }
    if (!script_->note.empty() && own_.trains()) {
      remarks_.push_back({std::string(script_->name), std::string(script_->note), false});
    }
    if (!script_->doc_stride.empty() && own_.has("doc-stride")) {
      remarks_.push_back({"--doc_stride", std::string(script_->doc_stride), false});
    }
  }

  // Parses the line as berth would. Values that a shell has yet to fill in are left out, unless any
  // text would do. A file of flags is not read.
  void check() {
    std::vector<std::string> arguments;
    Platform platform;
    platform.home = "~";
    CommandLine scratch;
    scratch.home = platform.home;
    for (auto [flag, value] : own_.settings()) {
      if (flag->name == "flagfile") {
        remarks_.push_back({"--flagfile", "is not read here: name its flags instead", false});
        continue;
      }
      const std::string& hint = flag->value.hint;
      const bool is_place = hint == "FILE" || hint == "DIR" || hint == "PATH";
      if (expands_ && is_variable(value) && !is_place) continue;
      if (expands_ && is_place) std::ranges::replace(value, '$', '_');
      try {
        flag->value.set(scratch, value);
        arguments.push_back(cat("--", flag->name, "=", value));
      } catch (const Error& error) {
        remarks_.push_back({"--" + flag->name, error.what(), true});
      }
    }
    for (std::string input : own_.inputs()) {
      if (expands_) std::ranges::replace(input, '$', '_');
      arguments.push_back(std::move(input));
    }
    if (!refused().empty()) return;
    const std::vector<const char*> pointers = [&] {
      std::vector<const char*> all;
      for (const std::string& argument : arguments) all.push_back(argument.c_str());
      return all;
    }();
    try {
      parse_flags(pointers, platform);
    } catch (const Error& error) {
      remarks_.push_back({"this line", error.what(), true});
    }
  }

  OwnCommand prediction() const {
    OwnCommand predicts;
    predicts.set("mode", "predict");
    for (const char* flag :
         {"task", "data-dir", "predict-data-file", "job-dir", "eval-batch-size", "device"}) {
      const bool only_for_glue = std::string_view(flag) == "task" && !own_.has("data-dir");
      if (own_.has(flag) && !only_for_glue) predicts.set(flag, *own_.value(flag));
    }
    return predicts;
  }

  const ShellCommand& command_;
  const Launch& launch_;
  const bool expands_;
  const TypedCommand typed_;
  const TrainingScript* script_;
  OwnCommand own_;
  bool predicts_afterwards_ = false, follows_unknown_ = false, takes_inputs_ = false;
  std::vector<Remark> remarks_;
  std::string text_;
};

}  // namespace

Explanation explain(std::span<const std::string> words) {
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
    const std::optional<Launch> launch = find_launch(command.words);
    if (!launch) continue;
    Explainer explainer(command, *launch, is_text);
    explainer.explain();
    explanation.text += (explanation.text.empty() ? "" : "\n") + explainer.text();
    for (std::string& flag : explainer.refused()) explanation.refused.push_back(std::move(flag));
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
  if (texts.size() == 1 && texts[0] == "-") {
    texts[0].assign(std::istreambuf_iterator<char>(std::cin), {});
    texts[0] += '\n';
  }
  const Explanation explanation = explain(texts);
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
