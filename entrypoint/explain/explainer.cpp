#include "entrypoint/explain/explainer.h"

#include <algorithm>
#include <array>

#include "entrypoint/explain/devices.h"
#include "entrypoint/explain/line_check.h"
#include "entrypoint/explain/masked_texts.h"
#include "entrypoint/explain/needed_files.h"
#include "entrypoint/explain/own_command.h"
#include "entrypoint/explain/scratch_model.h"
#include "entrypoint/explain/script_checks.h"
#include "entrypoint/explain/script_defaults.h"
#include "entrypoint/flags/flag_lookup.h"
#include "entrypoint/flags/flags.h"
#include "entrypoint/flags/foreign/translation.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::string_view kCountsAsAuto =
    "counts as --precision auto, the default: berth multiplies in bf16 where the device can, and "
    "else in fp32";

// What the command line refuses, because it asks for something besides the job; the job is the
// same without it.
constexpr std::array<std::string_view, 4> kBesidesTheJob = {
    "--push_to_hub", "--push_to_hub_model_id", "--push_to_hub_organization", "--report_to"};

class Explainer {
 public:
  Explainer(const ShellCommand& command, const Launch& launch, bool expands,
            const ExplainOptions& options)
      : command_(command),
        launch_(launch),
        expands_(expands),
        script_(find_script(launch.script, launch.path, TypedCommand(launch.flags))),
        devices_(choose_devices(launch, script_, TypedCommand(launch.flags), options.devices)),
        typed_(launch.flags, devices_.processes) {}

  void explain() {
    if (note_refused_script()) return;
    note_launch();
    translate_flags();
    check_meanings(script_, typed_, devices_.processes, own_, remarks_);
    name_configuration(typed_, own_, remarks_);
    name_scratch_model(typed_, own_, remarks_);
    name_devices(devices_, own_);
    score_dev_file();
    name_data_files(launch_.script, typed_, predicts_afterwards_, own_, remarks_);
    if (predicts_afterwards_) {
      predicts_afterwards_ = check_prediction(launch_.script, own_, remarks_);
    }
    check_evaluation(script_, typed_, own_, remarks_);
    if (script_ != nullptr) {
      add_defaults();
      check_masked_texts(*script_, typed_, own_, remarks_);
    }
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
    constexpr std::array<std::string_view, 13> kVerbs = {
        "holds",   "is",    "are",     "has",   "names",  "takes", "leaves",
        "divides", "joins", "changes", "makes", "counts", "needs"};
    const std::string_view first = std::string_view(remark.text).substr(0, remark.text.find(' '));
    return std::ranges::find(kVerbs, first) != kVerbs.end();
  }

  bool note_refused_script() {
    std::string_view refused = refused_script(launch_.script, launch_.path);
    const bool may_decode =
        launch_.script == "run_language_modeling.py" || launch_.script == "run_lm_finetuning.py";
    if (may_decode && !typed_.is_on("mlm")) {
      refused = "without --mlm this script trains decoders, and berth trains encoders";
    }
    const bool is_electra =
        launch_.script == "run_pretraining.py" &&
        std::ranges::any_of(launch_.flags, [](const std::string& word) {
          return word.starts_with("--model-name") || word.starts_with("--hparams");
        });
    if (is_electra) {
      refused =
          "ELECTRA's script reads its sizes and its schedule from --hparams; --task electra "
          "pre-trains on the text itself";
    }
    if (refused.empty()) return false;
    remarks_.push_back({launch_.script, std::string(refused), true});
    return true;
  }

  void note_launch() {
    const bool is_foreign = std::ranges::any_of(
        typed_.arguments(), [](const TypedArgument& row) { return row.foreign != nullptr; });
    if (!launch_.script.empty() && script_ == nullptr) {
      remarks_.push_back({launch_.script,
                          "is unknown here, and so is the task that it trains. Its flags are read "
                          "like Trainer's; compare the line with what the script does",
                          true});
    } else if (launch_.script.empty() && !launch_.is_berth && is_foreign) {
      remarks_.push_back({"the script",
                          "is not in the line, and its defaults are not known; put its name in "
                          "front of the flags: berth explain 'run_glue.py ...'",
                          true});
    }
    const bool is_trainer = script_ != nullptr && script_->devices == ScriptDevices::kAllGpus;
    if (is_trainer && !typed_.value("do_train") && !typed_.value("do_eval") &&
        !typed_.value("do_predict")) {
      remarks_.push_back(
          {launch_.script,
           "has no --do_train, --do_eval or --do_predict in this line, without which the script of "
           "transformers does nothing; add the one that is meant",
           true});
    }
    for (const LaunchRemark& remark : launch_.remarks) {
      remarks_.push_back({remark.word, remark.text, remark.refused});
    }
    for (const Remark& remark : devices_.remarks) remarks_.push_back(remark);
    if (!launch_.precision.empty() && launch_.precision != "no") {
      remarks_.push_back({launch_.precision_word, std::string(kCountsAsAuto), false});
      asks_for_precision_ = true;
    }
  }

  void translate_flags() {
    Translation translation = translate(typed_);
    for (Remark& remark : translation.remarks) {
      if (std::ranges::find(kBesidesTheJob, remark.flag) != kBesidesTheJob.end()) {
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
    remarks_.push_back({is_short ? "--dtype" : "--bf16", std::string(kCountsAsAuto), false});
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
    } else if (argument.own->name == "threads" && script_ != nullptr && !script_->threads.empty()) {
      remarks_.push_back({argument.typed, std::string(script_->threads), false});
    } else {
      own_.set(argument.own->name, argument.values[0]);
    }
  }

  // For a word that is no known flag: an unknown one, its values, or what stands alone.
  void refuse(const std::string& word) {
    if (!word.starts_with("--")) {
      const bool is_options = word.ends_with(".json") || word.ends_with(".yaml");
      const bool is_variable = expands_ && word.starts_with('$');
      const char* advice =
          is_options    ? "there is no such file here; write its options as flags"
          : is_variable ? "the text does not set this variable; write the flags that it holds"
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

  // Some scripts evaluate on the file that berth would predict.
  void score_dev_file() {
    if (script_ == nullptr || script_->dev_file.empty()) return;
    const std::optional<std::string> file = typed_.value(script_->dev_file);
    const std::string mode = own_.value("mode").value_or("train_and_eval");
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
      add(row.flag, row.value.empty() ? "true" : std::string(row.value));
    }
    if (!added.empty()) {
      remarks_.push_back(
          {"added:",
           cat(added.substr(1), ", which is what ", script_->name, " does without a flag"), false});
    }
    if (is_trainer && own_.trains() && lacks("precision") && !asks_for_precision_) {
      remarks_.push_back({"--precision",
                          cat("is auto without the flag: berth multiplies in bf16 where the device "
                              "can, and ",
                              script_->name, " in fp32, as --precision fp32 does"),
                          false});
    }
    if (!script_->note.empty() && own_.trains()) {
      remarks_.push_back({std::string(script_->name), std::string(script_->note), false});
    }
    const bool has_stride = own_.has("doc-stride") || script_->name == "run_squad.py";
    if (!script_->doc_stride.empty() && has_stride) {
      remarks_.push_back({"--doc_stride", std::string(script_->doc_stride), false});
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
    remarks_.push_back({"--mode eval",
                        "scores the answers, which another script does for these predictions",
                        false});
  }

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
  const TrainingDevices devices_;
  const TypedCommand typed_;
  OwnCommand own_;
  bool predicts_afterwards_ = false, follows_unknown_ = false, takes_inputs_ = false;
  bool asks_for_precision_ = false;
  std::vector<Remark> remarks_;
  std::string text_;
};

}  // namespace

Explanation explain_launch(const ShellCommand& command, const Launch& launch, bool expands,
                           const ExplainOptions& options) {
  Explainer explainer(command, launch, expands, options);
  explainer.explain();
  return explainer.explanation();
}

}  // namespace berth
