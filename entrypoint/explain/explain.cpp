#include "entrypoint/explain/explain.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "entrypoint/explain/best_metric.h"
#include "entrypoint/explain/falling_rate.h"
#include "entrypoint/explain/garden_experiment.h"
#include "entrypoint/explain/launch.h"
#include "entrypoint/explain/manifest.h"
#include "entrypoint/explain/named_inputs.h"
#include "entrypoint/explain/notebook.h"
#include "entrypoint/explain/option_files.h"
#include "entrypoint/explain/own_command.h"
#include "entrypoint/explain/pretraining.h"
#include "entrypoint/explain/python_job.h"
#include "entrypoint/explain/python_reader.h"
#include "entrypoint/explain/script_checks.h"
#include "entrypoint/explain/script_columns.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/explain/script_flags.h"
#include "entrypoint/explain/shell_text.h"
#include "entrypoint/flags/flag_table.h"
#include "entrypoint/flags/flags.h"
#include "entrypoint/flags/foreign/translation.h"
#include "entrypoint/report/standard_streams.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::array<std::string_view, 14> kVerbs = {
    "preprocess", "prepare", "prep_", "download", "convert", "tokenize", "create_",
    "build_",     "make_",   "split", "clean",    "extract", "generate", "merge_"};

// Programs that write other rows than they read, where their output goes to a file.
constexpr std::string_view kFilters = "cat cut grep sed awk head tail sort shuf tr paste split jq";
constexpr std::string_view kInterpreters = "bash sh zsh perl make Rscript java";

constexpr std::string_view kPrepares = " may prepare files; berth does not do its work\n";

// Whether a script of this name prepares files for a training, and trains nothing itself:
// "preprocess.py", "convert_to_conll.py".
bool prepares_files(std::string_view script) {
  return std::ranges::any_of(
      kVerbs, [&](std::string_view verb) { return script.find(verb) != script.npos; });
}

// The first words of a command that starts no training and may prepare files for one: "bash
// prepare.sh", "cut -d". Empty: its program is known, and writes no rows.
std::string preparation_in(const ShellCommand& command) {
  if (command.words.empty()) return "";
  const std::string& program = command.words[0];
  const std::string_view name = last_part(program);
  const bool has_script = command.words.size() > 1;
  const bool is_filter =
      is_one_of(kFilters, name) && command.redirections.find('>') != std::string::npos;
  const bool is_script = name.ends_with(".sh") || (has_script && is_one_of(kInterpreters, name));
  if (!is_filter && !is_script) return "";
  return has_script ? cat(program, " ", command.words[1]) : program;
}

constexpr std::string_view kCountsAsAuto =
    "counts as --precision auto, the default: berth multiplies in bf16 where the device can, and "
    "else in fp32";

// What the command line refuses, because it asks for something besides the job; the job is the
// same without it.
constexpr std::string_view kBesidesTheJob =
    "--push_to_hub --push_to_hub_model_id --push_to_hub_organization --report_to";

class Explainer {
 public:
  Explainer(const ShellCommand& command, const Launch& launch, bool expands,
            const ExplainOptions& options)
      : command_(command),
        launch_(launch),
        expands_(expands),
        script_(find_script(launch.script, launch.place(), TypedCommand(launch.flags))),
        read_head_(options.read_head),
        devices_(choose_devices(launch, script_, TypedCommand(launch.flags), options.devices)),
        typed_(launch.flags, devices_.processes) {}

  void explain() {
    if (note_refused_script()) return;
    note_launch();
    translate_flags();
    check_meanings(script_, typed_, devices_.processes, own_, remarks_);
    keep_rows_apart();
    name_configuration(typed_, own_, remarks_);
    name_scratch_model(typed_, own_, remarks_);
    if (script_ != nullptr) name_random_model(*script_, own_, remarks_);
    name_devices(devices_, own_);
    score_dev_file();
    name_data_files(launch_.script, typed_, predicts_afterwards_, own_, remarks_);
    if (predicts_afterwards_) {
      predicts_afterwards_ = check_prediction(launch_.script, own_, remarks_);
    }
    check_evaluation(script_, typed_, own_, remarks_);
    if (script_ != nullptr) name_text_columns(*script_, typed_, read_head_, own_, remarks_);
    if (script_ != nullptr) {
      add_defaults();
      match_falling_rate(*script_, own_, remarks_);
      name_best_metric(*script_, typed_, own_, remarks_);
      check_script_flags(*script_, launch_.place(), typed_, remarks_);
      check_masked_texts(*script_, typed_, own_, remarks_);
    }
    if (!launch_.is_berth) check_single_text(own_, remarks_);
    check_line(own_, expands_, remarks_);
    write_lines();
  }

  Explanation explanation() const {
    Explanation result{.text = text_, .refused = {}};
    if (!text_.empty() && !remarks_.empty()) result.text += '\n';
    for (const Remark& remark : remarks_) {
      const char* const fate = is_left_out(remark) ? " is left out: " : " is refused: ";
      const bool is_fate = remark.refused && !says_itself(remark);
      result.text += cat(remark.flag, is_fate ? fate : " ", remark.text, "\n");
      if (remark.refused) result.refused.push_back(remark.flag);
    }
    return result;
  }

 private:
  // Whether the line does without a flag that stands in the way of one that does the same.
  bool is_left_out(const Remark& remark) const {
    return remark.refused && !text_.empty() && remark.flag.starts_with("--") &&
           !own_.has(remark.flag.substr(2));
  }

  // Whether the sentence has a verb: "the number of devices is not in the line".
  static bool says_itself(const Remark& remark) {
    constexpr std::string_view kVerbsOfSentences =
        "holds is are has names takes leaves divides joins changes makes counts needs does gives "
        "belong belongs have differs differ trains chooses scores keeps pools replaces computes "
        "puts gets reads draws rounds sets cuts begins goes removes starts falls adds wraps "
        "tokenizes";
    const std::string_view first = std::string_view(remark.text).substr(0, remark.text.find(' '));
    return is_one_of(kVerbsOfSentences, first);
  }

  bool note_refused_script() {
    std::string_view refused = refused_script(launch_.script, launch_.place());
    const bool may_decode =
        launch_.script == "run_language_modeling.py" || launch_.script == "run_lm_finetuning.py";
    if (may_decode && !typed_.is_on("mlm")) {
      refused = "without --mlm this script trains decoders, and berth trains encoders";
    }
    if (refused.empty()) refused = refused_pretraining(launch_.script, launch_.flags);
    if (refused.empty()) return false;
    remarks_.refuse(launch_.script, refused);
    return true;
  }

  void note_launch() {
    const bool is_foreign = std::ranges::any_of(
        typed_.arguments(), [](const TypedArgument& row) { return row.foreign != nullptr; });
    if (launch_.script.ends_with(".ipynb")) {
      remarks_.refuse(
          launch_.script,
          "holds no training that berth reads: no TrainingArguments, and no known script "
          "that a cell starts");
    } else if (launch_.lacks_training) {
      remarks_.refuse(launch_.script,
                      "holds no training that berth reads: no TrainingArguments, and no loop with "
                      "backward()");
    } else if (!launch_.script.empty() && script_ == nullptr) {
      remarks_.refuse(launch_.script,
                      "is unknown here, and so is the task that it trains. Its flags are read "
                      "like Trainer's; compare the line with what the script does");
    } else if (launch_.path.empty() && !launch_.is_berth && is_foreign) {
      remarks_.refuse("the script",
                      "is not in the line, and its defaults are not known; put its name in "
                      "front of the flags: berth explain 'run_glue.py ...'");
    }
    const bool needs_mode =
        script_ != nullptr && (script_->devices == ScriptDevices::kAllGpus ||
                               script_->batch == BatchOf::kProcess || has_records_mode());
    if (needs_mode && !typed_.value("do_train") && !typed_.value("do_eval") &&
        !typed_.value("do_predict")) {
      remarks_.refuse(
          launch_.script,
          "has no --do_train, --do_eval or --do_predict in this line, without which the script "
          "does nothing; add the one that is meant");
    }
    for (const Remarks* found : {&launch_.remarks, &devices_.remarks}) {
      remarks_.insert(remarks_.end(), found->begin(), found->end());
    }
    if (!launch_.precision.empty() && launch_.precision != "no") {
      remarks_.note(launch_.precision_word, kCountsAsAuto);
      asks_for_precision_ = true;
    }
  }

  // Whether it is google-research/bert's pre-training, and not Model Garden's, which only trains.
  bool has_records_mode() const {
    return script_->name == "run_pretraining.py" && !typed_.value("mode");
  }

  void translate_flags() {
    Translation translation = translate(typed_);
    for (Remark& remark : translation.remarks) {
      if (is_one_of(kBesidesTheJob, remark.flag)) {
        remark.refused = false;
        remark.text = cat("is left out: ", remark.text);
      }
      remarks_.push_back(std::move(remark));
    }
    const TypedCommand& translated = translation.command;
    takes_inputs_ = takes_inputs(translated.value("mode").value_or(""));
    for (const TypedArgument& argument : translated.arguments()) take(argument);
    predicts_afterwards_ = translation.predicts_afterwards;
    settle_precision();
  }

  void settle_precision() {
    for (const char* flag : {"fp16", "bf16", "tf32", "fp16_full_eval", "amp"}) {
      if (typed_.is_on(flag)) asks_for_precision_ = true;
    }
    const bool says_type = typed_.value("precision").has_value() && !launch_.is_berth;
    const std::string type = says_type ? *typed_.value("precision") : "";
    const bool is_short = type == "bfloat16" || type == "float16";
    if (!typed_.is_on("bf16") && !is_short) return;
    own_.remove("precision");
    asks_for_precision_ = true;
    remarks_.note(is_short ? "--dtype" : "--bf16", kCountsAsAuto);
  }

  void take(const TypedArgument& argument) {
    if (argument.own != nullptr) follows_unknown_ = false;
    const std::string& first = argument.tokens[0];
    if (argument.own == nullptr && takes_inputs_ && !first.starts_with("--") && !follows_unknown_) {
      own_.add_input(first);
    } else if (argument.own == nullptr) {
      refuse(first);
    } else if (argument.values.empty()) {
      remarks_.refuse(argument.typed, "the flag needs a value");
    } else if (is_share(argument)) {
      take_share(argument);
    } else if (argument.own->name == "threads" && script_ != nullptr && !script_->threads.empty()) {
      remarks_.note(argument.typed, script_->threads);
    } else {
      own_.set(argument.own->name, argument.values[0]);
    }
  }

  // Whether the value counts updates as a share of all, as --eval_steps 0.1 of the Trainer.
  static bool is_share(const TypedArgument& argument) {
    const std::optional<double> share = parse_real(argument.values[0]);
    return is_one_of("eval-steps save-steps logging-steps", argument.own->name) && share &&
           *share > 0 && *share < 1;
  }

  void take_share(const TypedArgument& argument) {
    const std::string share = cat("is ", argument.values[0], ", a share of all updates");
    if (argument.own->name != "eval-steps") {
      return remarks_.note(argument.typed, cat(share, ", which changes no update: --",
                                               argument.own->name, " counts updates"));
    }
    remarks_.refuse(argument.typed, cat(share, ", and berth counts them; write their number"));
  }

  // For a word that is no known flag: an unknown one, its values, or what stands alone.
  void refuse(const std::string& word) {
    if (!word.starts_with("--")) {
      const bool is_options = word.ends_with(".json") || word.ends_with(".yaml");
      const bool is_variable = expands_ && word.starts_with('$');
      const bool has_long_dash = word.starts_with("\u2013") || word.starts_with("\u2014");
      const char* advice =
          has_long_dash ? "begins with a long dash, as pages show two hyphens; write --"
          : is_options  ? "there is no such file here; write its options as flags"
          : is_variable ? "the text does not set this variable; write the flags that it holds"
                        : "berth names every input by a flag";
      if (!follows_unknown_) remarks_.refuse(word, advice);
      return;
    }
    const std::string flag = word.substr(0, word.find('='));
    follows_unknown_ = true;
    try {
      look_up_flag(std::string_view(flag).substr(2));
    } catch (const Error& error) {
      remarks_.refuse(flag, cat(error.problem(), "; ", error.hint()));
    }
  }

  // Each process that a launcher starts compares the texts of its own batch, unless the loss
  // gathers them. berth compares the rows of a micro-batch, on however many devices.
  void keep_rows_apart() {
    constexpr std::string_view kComparing =
        "in_batch_negatives symmetric cosent angle online_contrastive";
    const bool compares = is_one_of(kComparing, own_.value("similarity-loss").value_or(""));
    const auto steps = parse_number(own_.value("gradient-accumulation-steps").value_or("1"));
    if (!compares || launch_.launcher.empty() || launch_.gathers_rows || !steps) return;
    if (devices_.processes < 2 || *steps > 100'000) return;
    own_.set("gradient-accumulation-steps",
             std::to_string(*steps * static_cast<uint64_t>(devices_.processes)));
    remarks_.note("--gradient-accumulation-steps",
                  cat("keeps the rows of ", devices_.processes,
                      " processes apart, as the program does without gather_across_devices: berth "
                      "compares the rows of a micro-batch"));
  }

  // Some scripts evaluate on the file that berth would predict.
  void score_dev_file() {
    if (script_ == nullptr || script_->dev_file.empty()) return;
    const std::optional<std::string> file = typed_.value(script_->dev_file);
    const std::string mode = own_.mode();
    if (!file || mode == "predict") return;
    if (!predicts_afterwards_) own_.remove("predict-data-file");
    if (mode != "train" && !own_.has("eval-data-file")) own_.set("eval-data-file", *file);
  }

  bool lacks(std::string_view flag) const {
    if (own_.has(flag)) return false;
    if (flag == "warmup-ratio") return !own_.has("warmup-steps");
    if (flag == "batch-size") return !own_.has("token-budget");
    if (flag == "attend-across-documents") return !own_.has("line-by-line");
    if (flag == "do-lower-case") return own_.has("vocab-file");
    return true;
  }

  // Whether the program computes the value of a flag, for which its remark asks.
  bool is_computed(std::string_view flag) const {
    return std::ranges::any_of(remarks_, [&](const Remark& remark) {
      std::string name = remark.flag;
      std::ranges::replace(name, '_', '-');
      return remark.refused && (name == flag || (name == "warmup-steps" && flag == "warmup-ratio"));
    });
  }

  // Adds the script's defaults where they are not berth's.
  void add_defaults() {
    std::string added;
    const auto add = [&](std::string_view flag, std::string value) {
      own_.set(flag, std::move(value));
      added += " " + flag_text(own_.settings().back(), expands_);
    };
    const uint64_t micro_batches =
        parse_number(own_.value("gradient-accumulation-steps").value_or("1")).value_or(1);
    const bool is_trainer = script_->batch == BatchOf::kDevice;
    const int64_t factor =
        static_cast<int64_t>(std::min<uint64_t>(micro_batches, 100'000)) * devices_.processes;
    if (is_trainer && own_.trains() && factor > 1 && lacks("batch-size")) {
      add("batch-size", std::to_string(micro_batch_of(*script_) * factor));
    }
    for (const ScriptDefault& row : script_->defaults) {
      if (!lacks(row.flag) || (row.trains && !own_.trains())) continue;
      if (is_computed(row.flag)) continue;
      add(row.flag, row.value.empty() ? "true" : std::string(row.value));
    }
    if (!added.empty()) {
      remarks_.note("added:", cat(added.substr(1), ", which is what ", script_->name,
                                  " does without a flag"));
    }
    if (is_trainer && own_.trains() && lacks("precision") && !asks_for_precision_) {
      remarks_.note("--precision",
                    cat("is auto without the flag: berth multiplies in bf16 where the device "
                        "can, and ",
                        script_->name, " in fp32, as --precision fp32 does"));
    }
    if (!script_->note.empty() && own_.trains()) {
      remarks_.note(script_->name, script_->note);
    }
    const bool has_stride = own_.has("doc-stride") || script_->name == "run_squad.py";
    if (!script_->doc_stride.empty() && has_stride) {
      own_.set("doc-step", own_.value("doc-stride").value_or("128"));
      own_.remove("doc-stride");
      remarks_.note("--doc_stride", script_->doc_stride);
    }
  }

  void write_lines() {
    const OwnCommand second_run = prediction();
    std::string scored;
    if (predicts_afterwards_) {
      // google-research/bert leaves the scores of these answers to another script.
      const bool has_answers = script_ != nullptr && !script_->doc_stride.empty();
      if (has_answers) scored = own_.value("predict-data-file").value_or("");
      own_.remove("predict-data-file");
    }
    if (own_.settings().empty() && own_.inputs().empty()) return;
    text_ = own_.line(command_, expands_);
    if (!predicts_afterwards_) return;
    ShellCommand typed;
    typed.environment = command_.environment;
    text_ += second_run.line(typed, expands_);
    if (scored.empty()) return;
    OwnCommand third_run = second_run;
    third_run.set("mode", "eval");
    third_run.remove("predict-data-file");
    third_run.set("eval-data-file", scored);
    text_ += third_run.line(typed, expands_);
    remarks_.note("--mode eval",
                  "scores the answers, which another script does for these predictions");
  }

  // A second run, which predicts. It takes the model, and how to read rows, from the job. It
  // repeats these flags because no job records them. That is a choice of this command, so no role
  // of a flag says it: other flags have the same role, and their defaults serve a prediction
  // better.
  OwnCommand prediction() const {
    OwnCommand predicts;
    predicts.set("mode", "predict");
    for (const char* flag : {"task", "data-dir", "predict-data-file", "job-dir", "eval-batch-size",
                             "device", "devices"}) {
      const bool only_for_glue = std::string_view(flag) == "task" && !own_.has("data-dir");
      if (own_.has(flag) && !only_for_glue) predicts.set(flag, *own_.value(flag));
    }
    return predicts;
  }

  const ShellCommand& command_;
  const Launch& launch_;
  const bool expands_;
  const TrainingScript* script_;
  const ReadFile& read_head_;
  const TrainingDevices devices_;
  const TypedCommand typed_;
  OwnCommand own_;
  bool predicts_afterwards_ = false, follows_unknown_ = false, takes_inputs_ = false;
  bool asks_for_precision_ = false;
  Remarks remarks_;
  std::string text_;
};

// Explains one command. `expands` says whether a shell has yet to replace variables in its words.
Explanation explain_launch(const ShellCommand& command, const Launch& launch, bool expands,
                           const ExplainOptions& options) {
  Explainer explainer(command, launch, expands, options);
  explainer.explain();
  return explainer.explanation();
}

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

std::optional<std::string> read_local_head(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text(kHeadBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
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

// The commands of a notebook, with the values of its Python names. Empty: the text is no notebook
// whose commands start a training, or it trains by its own code.
std::vector<ShellCommand> commands_of_notebook(const std::string& text) {
  const std::string code = notebook_program(text);
  std::vector<std::string> flags;
  if (find_python_job(code, flags)) return {};
  std::map<std::string, std::string> variables;
  std::set<std::string> chosen;
  for (const auto& [name, value] : read_python(code).assignments) {
    const bool is_one =
        value.kind == PythonValue::Kind::kText || value.kind == PythonValue::Kind::kWord;
    if (is_one) {
      variables[name] = value.text;
    } else {
      chosen.insert(name);
    }
  }
  std::vector<ShellCommand> commands = shell_commands(notebook_commands(text), variables, chosen);
  const bool trains = std::ranges::any_of(commands, [](const ShellCommand& command) {
    const std::optional<Launch> launch = launch_of(command);
    return launch && is_known_script(launch->script);
  });
  return trains ? commands : std::vector<ShellCommand>();
}

// The commands, and in place of a notebook that only starts scripts the commands of its cells.
std::vector<ShellCommand> with_notebooks(std::vector<ShellCommand> commands,
                                         const ExplainOptions& options, bool& is_text) {
  if (!options.read_file) return commands;
  std::vector<ShellCommand> all;
  for (ShellCommand& command : commands) {
    const std::optional<Launch> launch = launch_of(command);
    const bool is_notebook = launch && launch->path.ends_with(".ipynb");
    const std::optional<std::string> text =
        is_notebook ? options.read_file(launch->path) : std::nullopt;
    std::vector<ShellCommand> inner =
        text ? commands_of_notebook(*text) : std::vector<ShellCommand>();
    if (inner.empty()) {
      all.push_back(std::move(command));
    } else {
      is_text = true;
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
  read_program(options.read_file, launch);
  read_option_files(options.read_file, launch);
  read_pretraining(launch);
}

// A word with `item` in place of a variable: "$NAME" and "${NAME}".
std::string filled_in(std::string word, const std::string& name, const std::string& item) {
  for (size_t at = word.find('$'); at != word.npos; at = word.find('$', at)) {
    const bool has_braces = word.compare(at + 1, name.size() + 2, cat("{", name, "}")) == 0;
    const size_t end = at + 1 + name.size() + (has_braces ? 2 : 0);
    const char next = end < word.size() ? word[end] : '\0';
    const bool goes_on = next == '_' || std::isalnum(static_cast<unsigned char>(next)) != 0;
    const bool is_bare = word.compare(at + 1, name.size(), name) == 0 && !goes_on;
    if (has_braces || is_bare) word.replace(at, end - at, item);
    at += has_braces || is_bare ? item.size() : 1;
  }
  return word;
}

// The loop of the text over the tasks of this command, as "for", "TASK", "in", "cola", "rte".
// nullptr: there is none, or another command makes its words.
const ShellCommand* loop_over_tasks(std::span<const ShellCommand> earlier,
                                    const ShellCommand& command) {
  constexpr size_t kMostTasks = 20;
  const std::optional<Launch> launch = launch_of(command);
  if (!launch) return nullptr;
  const std::string task = TypedCommand(launch->flags).value("task").value_or("");
  if (!task.starts_with('$')) return nullptr;
  for (const ShellCommand& loop : earlier) {
    const std::vector<std::string>& words = loop.words;
    const bool is_loop = words.size() > 3 && words.size() <= 3 + kMostTasks && words[0] == "for" &&
                         words[2] == "in" && filled_in(task, words[1], "").empty();
    const bool is_literal = std::ranges::none_of(
        words, [](const std::string& word) { return word.find('$') != word.npos; });
    if (is_loop && is_literal) return &loop;
  }
  return nullptr;
}

// The commands. In place of one in a loop over tasks there is one for each task, because the rows
// and the metrics are the task's.
std::vector<ShellCommand> with_looped_tasks(const std::vector<ShellCommand>& commands) {
  constexpr size_t kMostCommands = 1000;
  std::vector<ShellCommand> all;
  for (const ShellCommand& command : commands) {
    const std::span earlier(commands.data(), static_cast<size_t>(&command - commands.data()));
    const ShellCommand* loop = all.size() < kMostCommands && earlier.size() < kMostCommands
                                   ? loop_over_tasks(earlier, command)
                                   : nullptr;
    if (loop == nullptr) {
      all.push_back(command);
      continue;
    }
    for (const std::string& task : std::span(loop->words).subspan(3)) {
      all.push_back(command);
      for (std::string& word : all.back().words) word = filled_in(word, loop->words[1], task);
    }
  }
  return all;
}

// Says of a loop of the text that it stays around the line that it fills in.
void note_loops(const std::vector<std::string>& names, Launch& launch) {
  for (const std::string& name : names) {
    const bool is_filled = std::ranges::any_of(launch.flags, [&](const std::string& word) {
      return word.find("$" + name) != word.npos || word.find("${" + name) != word.npos;
    });
    if (is_filled)
      launch.remark("for " + name, "stays around this line, and fills in its variable");
  }
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
  ScriptOrigins origins;
  std::vector<std::string> loops;
  for (const ShellCommand& command : commands) {
    std::optional<Launch> launch = launch_of(command);
    if (launch) {
      launch->origin = origins.of(*launch);
      note_loops(loops, *launch);
    } else {
      origins.note(command);
      const bool is_loop = command.words.size() > 1 && command.words[0] == "for";
      if (is_loop) loops.push_back(command.words[1]);
    }
    std::string preparation = launch ? "" : preparation_in(command);
    const bool is_script =
        launch && knows_one && !is_known_script(launch->script) && prepares_files(launch->script);
    if (is_script) preparation = launch->path;
    if (!preparation.empty()) {
      preparations += cat(preparation, kPrepares);
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

// Whether the name of an unknown script says that it trains.
bool names_training(std::string_view script) {
  constexpr std::array<std::string_view, 7> kWords = {"train", "tune",  "run", "main",
                                                      "fit",   "learn", "bert"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return script.find(word) != script.npos; });
}

// The explanation of each container, and its args for the manifest. Commands of other steps beside
// a known script are named, and not explained.
Explanation explain_manifest(std::vector<ManifestLaunch> jobs, const ExplainOptions& options) {
  for (ManifestLaunch& job : jobs) read_files(options, job.launch);
  const auto is_known = [](const ManifestLaunch& job) {
    return job.launch.is_berth || is_known_script(job.launch.script);
  };
  const bool knows_one = std::ranges::any_of(jobs, is_known);
  Explanation explanation;
  std::string others;
  for (const ManifestLaunch& job : jobs) {
    if (job.is_text && knows_one && !is_known(job) && !names_training(job.launch.script)) {
      others += cat(job.launch.path, kPrepares);
      continue;
    }
    Explanation part = explain_launch(job.command, job.launch, true, options);
    if (!job.is_text) part.text += manifest_args(part.text);
    append(std::move(part), explanation);
  }
  if (!others.empty()) append({.text = others, .refused = {}}, explanation);
  return explanation;
}

}  // namespace

Explanation explain(std::span<const std::string> words, const ExplainOptions& given) {
  ExplainOptions options = given;
  words = without_options(words, options);
  const bool is_text = words.size() == 1 && words[0].find_first_of(" \t\n") != std::string::npos;
  if (std::vector<ManifestLaunch> jobs = find_manifest_jobs(words, is_text, options);
      !jobs.empty()) {
    return explain_manifest(std::move(jobs), options);
  }
  std::vector<ShellCommand> commands;
  if (is_text) {
    commands = shell_commands(words[0]);
  } else {
    commands.push_back({.words = {words.begin(), words.end()}});
    split_environment(commands[0]);
  }
  const std::string script_of_shell = shell_script_in(commands);
  bool expands = is_text;
  commands = with_notebooks(with_inner_commands(std::move(commands)), options, expands);
  commands = with_looped_tasks(commands);
  Explanation explanation = explain_commands(commands, expands, options);
  if (explanation.text.empty() && !script_of_shell.empty()) {
    throw Error(Code::kUsage, "the training is started by another file", script_of_shell,
                cat("explain its text: berth explain - < ", script_of_shell));
  }
  for (const ShellCommand& command : commands) {
    const bool starts = !command.words.empty() && last_part(command.words[0]) == "autotrain";
    if (explanation.text.empty() && starts) refuse_autotrain(command.words[0]);
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
  const Explanation explanation =
      explain(texts, {.devices = {}, .read_file = read_local_file, .read_head = read_local_head});
  StandardOutput output;
  output.write(as_bytes(explanation.text));
  output.close();
  if (explanation.refused.empty()) return;
  throw Error(Code::kUsage, "the line does not do all that was asked",
              joined(explanation.refused, ", "), "its explanation says what to change");
}

}  // namespace berth
