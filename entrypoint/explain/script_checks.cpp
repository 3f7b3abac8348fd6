#include "entrypoint/explain/script_checks.h"

#include <algorithm>
#include <array>

#include "entrypoint/explain/masked_texts.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr std::string_view kBatchFlag = "--train_batch_size";
constexpr std::string_view kEarlyMasking = "run_lm_finetuning.py";
constexpr uint64_t kLargestProcessBatch = 1'000'000;
// In transformers 2 these scripts have --model_type.
constexpr std::array<std::string_view, 4> kCapitalScripts = {"run_glue.py", "run_ner.py",
                                                             "run_squad.py", "run_xnli.py"};

// Where a launcher starts several processes, each takes a whole batch.
void count_examples_of_processes(int64_t processes, OwnCommand& own, std::vector<Remark>& remarks) {
  const std::optional<uint64_t> examples = parse_number(own.value("batch-size").value_or("32"));
  if (!examples || *examples > kLargestProcessBatch) {
    remarks.push_back({std::string(kBatchFlag),
                       "counts the examples of one process, and its number is not in the line",
                       true});
    return;
  }
  const std::string product = std::to_string(*examples * static_cast<uint64_t>(processes));
  own.set("batch-size", product);
  remarks.push_back({std::string(kBatchFlag),
                     cat("counts the examples of one process: ", *examples, " x ", processes,
                         " = --batch-size ", product),
                     false});
}

// Decoders and encoders that berth does not have, by how their names begin.
constexpr std::array<std::string_view, 42> kOtherKinds = {
    "gpt",         "distilgpt", "openai-gpt",  "t5-",        "mt5-",         "flan-t5",
    "byt5-",       "bart-",     "mbart-",      "distilbart", "xlnet-",       "llama",
    "opt-",        "bloom",     "pythia",      "falcon",     "mistral",      "gemma",
    "qwen",        "codegen",   "ctrl",        "transfo",    "xlm-mlm",      "xlm-clm",
    "longformer-", "bigbird-",  "funnel-",     "flaubert",   "deberta-base", "deberta-large",
    "reformer-",   "canine-",   "squeezebert", "mobilebert", "convbert",     "roformer",
    "rembert",     "fnet-",     "nezha",       "layoutlm",   "luke-",        "big_bird"};

void check_model_kind(const OwnCommand& own, std::vector<Remark>& remarks) {
  const std::string model = lower_ascii(own.value("model").value_or(""));
  const std::string_view name = last_part(model);
  const auto begins = [&](std::string_view kind) { return name.starts_with(kind); };
  if (std::ranges::none_of(kOtherKinds, begins)) return;
  remarks.push_back(
      {"--model",
       cat("names ", quoted(name), ", and docs/models.md lists the encoders that berth trains"),
       true});
}

// Early scripts keep capitals unless --do_lower_case is there.
void keep_capitals(const TrainingScript& script, const TypedCommand& typed, OwnCommand& own,
                   std::vector<Remark>& remarks) {
  const bool is_early = script.name == kEarlyMasking ||
                        (typed.value("model_type") &&
                         std::ranges::find(kCapitalScripts, script.name) != kCapitalScripts.end());
  const bool is_uncased = own.value("model").value_or("").find("uncased") != std::string::npos;
  if (!is_early || !is_uncased || own.has("do-lower-case")) return;
  own.set("do-lower-case", "false");
  remarks.push_back({"--no-do-lower-case",
                     cat("is what ", script.name,
                         " does without --do_lower_case: it keeps capitals, which an uncased "
                         "vocabulary does not have"),
                     false});
}

// The first version of this script has other defaults than the one with Trainer.
void require_schedule(const OwnCommand& own, std::vector<Remark>& remarks) {
  if (!own.trains()) return;
  if (!own.has("batch-size")) {
    remarks.push_back({"--per_gpu_train_batch_size",
                       "is missing: it is 4 in the first run_language_modeling.py and 8 in later "
                       "ones; add --per_device_train_batch_size N",
                       true});
  }
  if (!own.has("epochs") && !own.has("max-steps")) {
    remarks.push_back({"--num_train_epochs",
                       "is missing: it is 1 in the first run_language_modeling.py and 3 in later "
                       "ones; add --num_train_epochs N",
                       true});
  }
}

void name_early_model(OwnCommand& own, std::vector<Remark>& remarks) {
  if (own.has("model")) return;
  own.set("model", "bert-base-cased");
  remarks.push_back(
      {"--model", "is bert-base-cased in run_lm_finetuning.py without a flag", false});
}

void note_first_rows(const TrainingScript& script, const TypedCommand& typed,
                     std::vector<Remark>& remarks) {
  const std::string flag = typed.typed_name("max-train-samples");
  if (flag.empty() || masks_texts(script.name)) return;
  remarks.push_back(
      {flag, cat("takes the first rows in ", script.name, ", and berth chooses them by chance"),
       false});
}

void check_joined_columns(const TypedCommand& typed, const OwnCommand& own,
                          std::vector<Remark>& remarks) {
  const std::string columns = typed.value("text_column_names").value_or("");
  if (columns.find(',') == std::string::npos || !own.has("text-pair-column")) return;
  remarks.push_back({"--text_column_names",
                     "joins two columns into one text there; join them in the file, or name a "
                     "pair with --text_column and --text_pair_column",
                     true});
}

// Trainer evaluates after steps only where a strategy says so.
void check_steps(const TypedCommand& typed, OwnCommand& own, std::vector<Remark>& remarks) {
  for (const char* flag : {"eval_strategy", "evaluation_strategy", "evaluate_during_training"}) {
    if (typed.value(flag)) return;
  }
  if (!typed.value("eval-steps") || !own.has("eval-steps")) return;
  own.remove("eval-steps");
  remarks.push_back({"--eval_steps", "has no effect without --eval_strategy steps", false});
}

}  // namespace

void check_meanings(const TrainingScript* script, const TypedCommand& typed, int64_t processes,
                    OwnCommand& own, std::vector<Remark>& remarks) {
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
  note_first_rows(*script, typed, remarks);
  if (script->devices == ScriptDevices::kAllGpus) check_steps(typed, own, remarks);
}

bool check_prediction(std::string_view script, OwnCommand& own, std::vector<Remark>& remarks) {
  const bool masks = masks_texts(script);
  if (!masks && (own.has("predict-data-file") || own.has("data-dir"))) return true;
  own.remove("predict-data-file");
  std::erase_if(remarks, [](const Remark& remark) { return remark.flag == "--do_predict"; });
  if (masks) {
    remarks.push_back({"--do_predict", cat("has no effect: ", script, " predicts nothing"), false});
  } else {
    remarks.push_back({"--do_predict", "needs rows: name them with --test_file", true});
  }
  return false;
}

void check_evaluation(const TrainingScript* script, const TypedCommand& typed,
                      const OwnCommand& own, std::vector<Remark>& remarks) {
  const bool reads_files = script != nullptr && script->batch == BatchOf::kDevice &&
                           script->name.starts_with("run_") && !masks_texts(script->name);
  const bool evaluates = own.value("mode").value_or("train_and_eval") == "train_and_eval";
  if (!reads_files || !evaluates || !typed.value("train-data-file")) return;
  if (own.has("eval-data-file") || typed.value("dataset_name")) return;
  const std::string_view flag = script->dev_file.empty() ? "validation_file" : script->dev_file;
  remarks.push_back(
      {cat("--", flag), cat("is missing, and ", script->name, " evaluates on its rows"), true});
}

}  // namespace berth
