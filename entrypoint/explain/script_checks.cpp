#include "entrypoint/explain/script_checks.h"

#include <algorithm>
#include <array>

#include "entrypoint/explain/named_inputs.h"
#include "storage/base/text.h"
#include "trainer/tasks/glue.h"

namespace berth {
namespace {

constexpr int64_t kMostProcesses = 100'000;

std::optional<int64_t> count_in(const std::string& text) {
  const std::optional<uint64_t> number = parse_number(text);
  if (!number || *number == 0 || *number > kMostProcesses) return std::nullopt;
  return static_cast<int64_t>(*number);
}

// Finds the devices step by step: their kind, then how many machines and how many devices each.
class DeviceFinder {
 public:
  DeviceFinder(const Launch& launch, const TrainingScript* script, const TypedCommand& typed,
               std::optional<int64_t> said)
      : launch_(launch), script_(script), typed_(typed), said_(said) {}

  TrainingDevices find() {
    choice_.kind = launch_.device;
    if (typed_.is_on("no_cuda") || typed_.is_on("use_cpu")) choice_.kind = AskedDevice::kCpu;
    const bool names_tpu = typed_.value("tpu") && counts_each_device();
    if (typed_.is_on("use_tpu") || typed_.value("tpu_num_cores") || names_tpu) {
      choice_.kind = AskedDevice::kTpu;
    }
    find_machines();
    if (launch_.launcher.empty()) {
      see_devices();
    } else {
      count_processes();
    }
    check_machines();
    return std::move(choice_);
  }

 private:
  void refuse_unknown_count(std::string_view why) {
    choice_.remarks.refuse("the number of devices",
                           cat("is not in the line, and the batch depends on it", why,
                               "; say it in front of the line: berth explain --devices N '...'"));
  }

  bool counts_each_device() const {
    return script_ != nullptr && script_->batch == BatchOf::kDevice;
  }

  // The batch of a script that counts the examples of each device or process grows with their
  // number.
  bool batch_depends() const {
    if (script_ == nullptr) return true;
    const bool is_evaluation = script_->devices == ScriptDevices::kAllGpus &&
                               !typed_.is_on("do_train") &&
                               (typed_.is_on("do_eval") || typed_.is_on("do_predict"));
    if (is_evaluation) return false;
    return script_->batch == BatchOf::kDevice ||
           (script_->batch == BatchOf::kProcess && !launch_.launcher.empty());
  }

  void take_count(int64_t count) {
    choice_.count = count;
    if (batch_depends()) choice_.processes = count * choice_.machines;
  }

  void find_machines() {
    if (launch_.machines.empty()) return;
    if (const auto machines = count_in(launch_.machines)) {
      choice_.machines = *machines;
    } else if (launch_.machines != "1:1") {
      choice_.remarks.refuse(
          "the number of machines",
          cat("is ", quoted(launch_.machines), ", and the batch depends on it; write it out"));
    }
  }

  void count_processes() {
    const std::optional<int64_t> typed = count_in(launch_.processes);
    // accelerate starts a process for each GPU that it sees.
    const bool sees_one =
        launch_.launcher == "accelerate" && launch_.processes.empty() && launch_.visible == "1";
    const bool is_one = launch_.processes.empty() &&
                        (launch_.launcher == "torchrun" || launch_.launcher == "xla_spawn.py" ||
                         choice_.kind == AskedDevice::kCpu);
    if (typed) {
      const bool is_split = launch_.counts_all && *typed % choice_.machines == 0;
      const int64_t here = is_split ? *typed / choice_.machines : *typed;
      if (*typed > 1 && choice_.kind == AskedDevice::kNotSaid) assume_gpus(here);
      take_count(here);
      if (launch_.counts_all) choice_.processes = batch_depends() ? *typed : 1;
    } else if (said_) {
      take_count(*said_);
      if (*said_ > 1 && choice_.kind == AskedDevice::kNotSaid) choice_.kind = AskedDevice::kGpu;
    } else if (sees_one) {
      take_count(1);
    } else if (is_one) {
      if (batch_depends()) choice_.processes = choice_.machines;
    } else if (!batch_depends()) {
      return;
    } else if (launch_.processes.empty()) {
      refuse_unknown_count(
          cat(": ", launch_.launcher, " takes it from a file of its own or from the machine"));
    } else {
      refuse_unknown_count(cat(": it is ", quoted(launch_.processes)));
    }
  }

  void assume_gpus(int64_t count) {
    choice_.kind = AskedDevice::kGpu;
    choice_.remarks.note(
        launch_.launcher,
        cat("starts ", count, " processes, one for each GPU: --device gpu --devices ", count,
            "; for a line that trains on CPUs add --use_cpu to it"));
  }

  // Without a launcher the script takes the devices that it sees.
  void see_devices() {
    if (choice_.kind == AskedDevice::kCpu) return;
    if (choice_.kind == AskedDevice::kTpu) {
      if (const auto cores = count_in(typed_.value("tpu_num_cores").value_or(""))) {
        take_count(*cores);
      } else if (said_) {
        take_count(*said_);
      } else if (counts_each_device() && batch_depends()) {
        refuse_unknown_count(cat(": ", script_->name, " takes all cores of the TPU"));
      }
      return;
    }
    const std::optional<int64_t> visible = count_in(launch_.visible);
    const ScriptDevices devices = script_ == nullptr ? ScriptDevices::kOne : script_->devices;
    if (said_ && devices != ScriptDevices::kOne) return take_count(*said_);
    if (devices == ScriptDevices::kOne) {
      if (choice_.kind == AskedDevice::kGpu && script_ != nullptr) take_count(1);
      if (said_) take_count(1);
      return;
    }
    if (visible) return take_count(*visible);
    if (!batch_depends()) return;
    if (devices == ScriptDevices::kAll) {
      refuse_unknown_count(cat(": ", script_->name, " takes all devices of the machine"));
    } else if (choice_.kind == AskedDevice::kGpu) {
      refuse_unknown_count(cat(": ", script_->name, " takes all GPUs that it sees"));
    }
  }

  // berth trains on the devices of one machine, or on the CPUs of several.
  void check_machines() {
    if (choice_.machines == 1) return;
    if (choice_.kind != AskedDevice::kCpu) {
      choice_.remarks.refuse(
          "the number of machines",
          cat("is ", choice_.machines,
              ", and berth trains on the GPUs or TPUs of one; give that one as many devices, or "
              "train on the CPUs of several with --world-size"));
      choice_.count.reset();
      return;
    }
    choice_.remarks.note(
        "--world-size",
        "needs a --rank for each machine, from 0, or a variable such as RANK says it");
  }

  const Launch& launch_;
  const TrainingScript* script_;
  const TypedCommand& typed_;
  const std::optional<int64_t> said_;
  TrainingDevices choice_;
};

bool names_device(const OwnCommand& own) {
  return own.has("device") || own.has("tpu") || own.has("num-gpus") ||
         own.value("distribution-strategy").value_or("") == "tpu";
}

}  // namespace

TrainingDevices choose_devices(const Launch& launch, const TrainingScript* script,
                               const TypedCommand& typed, std::optional<int64_t> said) {
  return DeviceFinder(launch, script, typed, said).find();
}

void name_devices(const TrainingDevices& choice, OwnCommand& own) {
  if (!names_device(own)) {
    if (choice.kind == AskedDevice::kCpu) own.set("device", "cpu");
    if (choice.kind == AskedDevice::kGpu) own.set("device", "gpu");
    if (choice.kind == AskedDevice::kTpu) own.set("device", "tpu");
  }
  const bool is_cpu = own.value("device").value_or("") == "cpu";
  if (choice.count && !is_cpu && !own.has("devices") && !own.has("num-gpus")) {
    if (*choice.count > 1 || own.has("device")) own.set("devices", std::to_string(*choice.count));
  }
  if (is_cpu && choice.machines > 1 && !own.has("world-size")) {
    own.set("world-size", std::to_string(choice.machines));
  }
}

namespace {

constexpr std::string_view kBatchFlag = "--train_batch_size";
constexpr std::string_view kEarlyMasking = "run_lm_finetuning.py";
constexpr uint64_t kLargestProcessBatch = 1'000'000;
// In transformers 2 these scripts have --model_type.
constexpr std::string_view kCapitalScripts = "run_glue.py run_ner.py run_squad.py run_xnli.py";

// Where a launcher starts several processes, each takes a whole batch.
void count_examples_of_processes(int64_t processes, OwnCommand& own, Remarks& remarks) {
  const std::optional<uint64_t> examples = parse_number(own.value("batch-size").value_or("32"));
  if (!examples || *examples > kLargestProcessBatch) {
    remarks.refuse(kBatchFlag,
                   "counts the examples of one process, and its number is not in the line");
    return;
  }
  const std::string product = std::to_string(*examples * static_cast<uint64_t>(processes));
  own.set("batch-size", product);
  remarks.note(kBatchFlag, cat("counts the examples of one process: ", *examples, " x ", processes,
                               " = --batch-size ", product));
}

// Decoders and encoders that berth does not have, by how their names begin.
constexpr std::array<std::string_view, 41> kOtherKinds = {
    "gpt",         "distilgpt", "openai-gpt",  "t5-",        "mt5-",         "flan-t5",
    "byt5-",       "bart-",     "mbart-",      "distilbart", "xlnet-",       "llama",
    "opt-",        "bloom",     "pythia",      "falcon",     "mistral",      "gemma",
    "qwen",        "codegen",   "ctrl",        "transfo",    "xlm-mlm",      "xlm-clm",
    "longformer-", "bigbird-",  "funnel-",     "flaubert",   "deberta-base", "deberta-large",
    "reformer-",   "canine-",   "squeezebert", "mobilebert", "convbert",     "rembert",
    "fnet-",       "nezha",     "layoutlm",    "luke-",      "big_bird"};

// Endings of files of parameters that berth does not read.
constexpr std::array<std::string_view, 6> kOtherFiles = {".npz",  ".msgpack",  ".h5",
                                                         ".onnx", ".pdparams", ".keras"};

void check_model_kind(const OwnCommand& own, Remarks& remarks) {
  const std::string model = lower_ascii(own.value("model").value_or(""));
  const std::string_view name = last_part(model);
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  if (std::ranges::any_of(kOtherFiles, ends)) {
    remarks.refuse("--model", cat("is a file of another kind, ", quoted(name),
                                  "; docs/models.md lists the files that berth reads"));
  }
  const auto begins = [&](std::string_view kind) { return name.starts_with(kind); };
  if (std::ranges::none_of(kOtherKinds, begins)) return;
  remarks.refuse("--model", cat("names ", quoted(name),
                                ", and docs/models.md lists the encoders that berth trains"));
}

// Early scripts keep capitals unless --do_lower_case is there.
void keep_capitals(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                   Remarks& remarks) {
  const bool is_early = script.name == kEarlyMasking ||
                        (typed.value("model_type") && is_one_of(kCapitalScripts, script.name));
  const bool is_uncased = own.value("model").value_or("").find("uncased") != std::string::npos;
  if (!is_early || !is_uncased || own.has("do-lower-case")) return;
  own.set("do-lower-case", "false");
  remarks.note("--no-do-lower-case",
               cat("is what ", script.name,
                   " does without --do_lower_case: it keeps capitals, which an uncased "
                   "vocabulary does not have"));
}

// The first version of this script has other defaults than the one with Trainer.
void require_schedule(const OwnCommand& own, Remarks& remarks) {
  if (!own.trains()) return;
  if (!own.has("batch-size")) {
    remarks.refuse("--per_gpu_train_batch_size",
                   "is missing: it is 4 in the first run_language_modeling.py and 8 in later "
                   "ones; add --per_device_train_batch_size N");
  }
  if (!own.has("epochs") && !own.has("max-steps")) {
    remarks.refuse("--num_train_epochs",
                   "is missing: it is 1 in the first run_language_modeling.py and 3 in later "
                   "ones; add --num_train_epochs N");
  }
}

void name_early_model(OwnCommand& own, Remarks& remarks) {
  if (own.has("model")) return;
  own.set("model", "bert-base-cased");
  remarks.note("--model", "is bert-base-cased in run_lm_finetuning.py without a flag");
}

// A flag with dashes is berth's own: the user has added it to the line.
void check_first_rows(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                      Remarks& remarks) {
  constexpr const char* kOwn = "max-train-samples";
  const std::string flag = typed.typed_name(kOwn);
  if (flag.empty() || flag == cat("--", kOwn) || masks_texts(script.name)) return;
  own.remove(kOwn);
  remarks.refuse(flag, cat("takes the first rows in ", script.name, ", and --", kOwn,
                           " any of them; add that, or name a file of the first rows"));
}

// The scripts of question answering count the windows of the first questions, too. So they may
// score the last of these questions without a window.
void check_first_questions(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                           Remarks& remarks) {
  const std::string flag = typed.typed_name("max-eval-samples");
  if (flag.empty() || !(script.name.starts_with("run_qa") || script.name == "run_squad.py")) return;
  own.remove("max-eval-samples");
  remarks.refuse(flag, cat("counts windows of texts in ", script.name,
                           ", and questions in berth; write the first questions into a file"));
}

void check_joined_columns(const TypedCommand& typed, const OwnCommand& own, Remarks& remarks) {
  std::string columns = typed.value("text_column_names").value_or("");
  if (columns.empty()) columns = own.value("text-column").value_or("");
  const bool is_joined = typed.value("text_column_names") ? own.has("text-pair-column") : true;
  if (columns.find(',') == std::string::npos || !is_joined) return;
  remarks.refuse(typed.value("text_column_names") ? "--text_column_names" : "--text_column_name",
                 "joins two columns into one text there; join them in the file, or name a "
                 "pair with --text_column and --text_pair_column");
}

// Options of Trainer that mean another thing here, or change the batch.
void check_trainer_options(const TypedCommand& typed, OwnCommand& own, Remarks& remarks) {
  if (typed.typed_name("label-names") == "--label_names" && own.has("label-names")) {
    own.remove("label-names");
    remarks.refuse("--label_names",
                   "names keys of Trainer's batches; --label-names lists the classes in berth");
  }
  const std::string options = lower_ascii(typed.value("accelerator_config").value_or(""));
  const size_t split = options.find("split_batches");
  if (split == options.npos || options.find("true", split) == options.npos) return;
  remarks.refuse("--accelerator_config",
                 "has split_batches, which makes the batch of a device the batch of all devices; "
                 "divide the batch by their number, and leave it out");
}

// Trainer evaluates after steps only where a strategy says so.
void check_steps(const TypedCommand& typed, OwnCommand& own, Remarks& remarks) {
  for (const char* flag : {"eval_strategy", "evaluation_strategy", "evaluate_during_training"}) {
    if (typed.value(flag)) return;
  }
  if (!typed.value("eval-steps") || !own.has("eval-steps")) return;
  own.remove("eval-steps");
  remarks.note("--eval_steps", "has no effect without --eval_strategy steps");
}

}  // namespace

void check_meanings(const TrainingScript* script, const TypedCommand& typed, int64_t processes,
                    OwnCommand& own, Remarks& remarks) {
  check_model_kind(own, remarks);
  if (script == nullptr) return;
  if (script->batch == BatchOf::kProcess && processes > 1 && own.trains()) {
    count_examples_of_processes(processes, own, remarks);
  }
  if (script->batch != BatchOf::kDevice) return;
  if (script->name == kEarlyMasking) name_early_model(own, remarks);
  if (script->name == "run_language_modeling.py") require_schedule(own, remarks);
  keep_capitals(*script, typed, own, remarks);
  check_joined_columns(typed, own, remarks);
  check_first_rows(*script, typed, own, remarks);
  check_first_questions(*script, typed, own, remarks);
  check_trainer_options(typed, own, remarks);
  if (script->devices == ScriptDevices::kAllGpus) check_steps(typed, own, remarks);
}

bool check_prediction(std::string_view script, OwnCommand& own, Remarks& remarks) {
  const bool masks = masks_texts(script);
  if (!masks && (own.has("predict-data-file") || own.has("data-dir"))) return true;
  own.remove("predict-data-file");
  std::erase_if(remarks, [](const Remark& remark) { return remark.flag == "--do_predict"; });
  if (masks) {
    remarks.note("--do_predict", cat("has no effect: ", script, " predicts nothing"));
  } else {
    remarks.refuse("--do_predict", "needs rows: name them with --test_file");
  }
  return false;
}

void check_evaluation(const TrainingScript* script, const TypedCommand& typed,
                      const OwnCommand& own, Remarks& remarks) {
  const bool reads_files = script != nullptr && script->batch == BatchOf::kDevice &&
                           script->name.starts_with("run_") && !masks_texts(script->name);
  const bool evaluates = own.mode() == "train_and_eval";
  if (!reads_files || !evaluates || !typed.value("train-data-file")) return;
  if (own.has("eval-data-file") || typed.value("dataset_name")) return;
  const std::string_view flag = script->dev_file.empty() ? "validation_file" : script->dev_file;
  remarks.refuse(cat("--", flag), cat("is missing, and ", script->name, " evaluates on its rows"));
}

namespace {

// These scripts are older than `datasets`, and read any file as text.
constexpr std::string_view kScriptsOfText = "run_language_modeling.py run_lm_finetuning.py";
// Ends of names of files that berth reads as tables.
constexpr std::array<std::string_view, 6> kTables = {".csv",   ".tsv",     ".json",
                                                     ".jsonl", ".parquet", ".pkl"};
constexpr const char* kShare = "0.05";

// The scripts read two files. Their flags are facts of these scripts, and no role of berth's flags.
void check_early_files(const TrainingScript& script, const OwnCommand& own, Remarks& remarks) {
  for (const char* flag : {"train-data-file", "eval-data-file"}) {
    const std::string file = lower_ascii(own.value(flag).value_or(""));
    if (std::ranges::none_of(kTables, [&](auto end) { return file.ends_with(end); })) continue;
    remarks.refuse(cat("--", flag),
                   cat("names a table by its ending, and ", script.name,
                       " reads all lines of the file as text; name a copy that ends with .txt"));
  }
  const bool evaluates = own.mode() != "train";
  if (evaluates && !own.has("eval-data-file")) {
    remarks.refuse("--eval_data_file",
                   cat("is missing, and ", script.name, " evaluates on its rows"));
  }
  if (own.has("line-by-line")) return;
  remarks.note(script.name,
               "joins the lines of a file without the tokens for the ends of texts, which "
               "berth puts around each line");
}

void evaluate_share(const TrainingScript& script, const std::string& share, OwnCommand& own,
                    Remarks& remarks) {
  if (!own.has("validation-split")) own.set("validation-split", share);
  remarks.note("--validation-split",
               cat("is the share that ", script.name,
                   " sets aside. The script takes the first rows, and berth chooses them by "
                   "a hash of their texts"));
  if (own.value("mode").value_or("") != "train") return;
  own.set("mode", "train_and_eval");
  remarks.note("--mode train_and_eval",
               cat("leaves these rows out of training, as ", script.name,
                   " does without --do_eval, too; --mode train trains on all rows"));
}

// An evaluation alone scores the split named validation, or the share that is set aside.
void check_scored_split(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                        Remarks& remarks) {
  const HubDataSet rows = find_hub_data_set(typed.value("dataset_name").value_or(""),
                                            typed.value("dataset_config_name").value_or(""));
  if (rows.splits == HubSplits::kValidation) return;
  own.remove("eval-data-file");
  remarks.refuse(typed.typed_name("dataset_name"),
                 cat("is not known to have a split named validation, without which ", script.name,
                     " evaluates on its first rows; name the rows with --validation_file"));
}

void set_rows_aside(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                    Remarks& remarks) {
  const std::optional<std::string> name = typed.value("dataset_name");
  if (!own.trains() && name) return check_scored_split(script, typed, own, remarks);
  if (!own.trains() || own.has("eval-data-file")) return;
  const std::string share = own.value("validation-split").value_or(kShare);
  if (!name) {
    if (script.sets_aside == SetsAside::kAll) return evaluate_share(script, share, own, remarks);
    if (own.mode() == "train") return;
    remarks.refuse("--validation_file",
                   cat("is missing, and ", script.name, " evaluates on its rows"));
    return;
  }
  const std::string config = typed.value("dataset_config_name").value_or("");
  const HubDataSet rows = find_hub_data_set(*name, config);
  const std::string flag = typed.typed_name("validation_split_percentage");
  if (rows.splits == HubSplits::kValidation) {
    if (flag.empty()) return;
    own.remove("validation-split");
    remarks.note(flag, "has no effect: the data set has a split named validation");
  } else if (rows.splits == HubSplits::kUnknown && !typed.value("validation-split")) {
    own.remove("validation-split");
    remarks.refuse(
        typed.typed_name("dataset_name"),
        cat("is not known here, and neither is whether it has a split named validation. Where it "
            "has none, add --validation-split ",
            share, ", which is what ", script.name,
            " sets aside. Where it has one, name the rows with --train_file ", rows.place,
            " --validation_file ", rows.place, "/validation instead"));
  } else {
    evaluate_share(script, share, own, remarks);
  }
}

}  // namespace

bool masks_texts(std::string_view script) {
  return script.find("mlm") != script.npos || script.find("_lm_") != script.npos ||
         script.find("language_model") != script.npos;
}

void check_masked_texts(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                        Remarks& remarks) {
  if (!masks_texts(script.name)) return;
  if (is_one_of(kScriptsOfText, script.name)) {
    check_early_files(script, own, remarks);
  }
  if (script.sets_aside != SetsAside::kNone) set_rows_aside(script, typed, own, remarks);
  // With hyphens it is berth's own flag: the user has added it, and knows the lines.
  const std::string flag = typed.typed_name("line-by-line");
  if (own.has("line-by-line") && flag != "--line-by-line") {
    remarks.refuse(
        flag.empty() ? "--line-by-line" : flag,
        cat("makes several sequences of a long line, of which ", script.name,
            " drops all but the first; where no line is longer, ",
            flag.empty() ? "add --line-by-line to the line" : "write --line-by-line in its place"));
  }
  if (own.has("max-train-samples") && script.sets_aside != SetsAside::kNone) {
    own.remove("max-train-samples");
    remarks.refuse(typed.typed_name("max-train-samples"),
                   cat("counts sequences of tokens in ", script.name,
                       ", and rows in berth; write the rows into a file and name it"));
  }
}

void check_single_text(const OwnCommand& own, Remarks& remarks) {
  constexpr std::string_view kFirstTexts = "sentence1 text_a text1 premise question1";
  constexpr std::string_view kClassTasks = "sequence_classification regression multi_label";
  const std::string text = own.value("text-column").value_or("");
  const std::string task = own.value("task").value_or("");
  const bool has_classes =
      task.empty() || is_one_of(kClassTasks, task) || find_glue_task(task) != nullptr;
  const bool is_alone = is_one_of(kFirstTexts, lower_ascii(text)) && !own.has("text-pair-column");
  if (!has_classes || !is_alone || !own.trains()) return;
  remarks.refuse(
      "--text-column",
      cat("names ", text,
          " alone, which berth pairs with a row's second text; write it into a file by another "
          "name, and add --text-column NAME"));
}

}  // namespace berth
