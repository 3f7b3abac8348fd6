#include "entrypoint/explain/script_defaults.h"

#include <algorithm>
#include <array>

#include "entrypoint/explain/garden_experiment.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr ScriptDefault kRate = {"learning-rate", "5e-5", true};
constexpr ScriptDefault kNoDecay = {"weight-decay", "0", true};
constexpr ScriptDefault kNoWarmup = {"warmup-ratio", "0", true};
constexpr ScriptDefault kNoClipping = {"max-grad-norm", "0", true};
constexpr ScriptDefault kDropLast = {"drop-remainder", "", true};
constexpr ScriptDefault kBertEpsilon = {"adam-epsilon", "1e-6", true};
constexpr ScriptDefault kBertBatch = {"batch-size", "32", true};
constexpr ScriptDefault kLowerCase = {"do-lower-case", "", false};
constexpr ScriptDefault kLong = {"max-seq-length", "384", false};
constexpr ScriptDefault kWhole = {"max-seq-length", "512", false};
constexpr ScriptDefault kNerTask = {"task", "ner", false};
constexpr ScriptDefault kMaskedTask = {"task", "mlm", false};
constexpr ScriptDefault kJoined = {"attend-across-documents", "", false};

// With Trainer.
constexpr ScriptDefault kTrainer[] = {kRate, kNoDecay, kNoWarmup};
// As of early transformers, which cuts at 128 tokens.
constexpr ScriptDefault kEarlyNer[] = {kNerTask, kRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kNer[] = {kNerTask, kWhole, kRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kQuestions[] = {kLong, kRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kMasked[] = {kMaskedTask, kWhole, kJoined, kRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kEarlyMasked[] = {
    kMaskedTask,           kWhole, kJoined,  {"batch-size", "4", true},
    {"epochs", "1", true}, kRate,  kNoDecay, kNoWarmup};
constexpr ScriptDefault kMaskedLines[] = {
    kMaskedTask, kWhole,   {"line-by-line", "", false}, {"whole-word-masking", "", true}, kRate,
    kNoDecay,    kNoWarmup};
// The scripts named *_no_trainer.py do not clip gradients.
constexpr ScriptDefault kBare[] = {kRate, kNoDecay, kNoWarmup, kNoClipping};
constexpr ScriptDefault kBareNer[] = {kNerTask, kRate, kNoDecay, kNoWarmup, kNoClipping};
constexpr ScriptDefault kBareQuestions[] = {kLong, kRate, kNoDecay, kNoWarmup, kNoClipping};
constexpr ScriptDefault kBareMasked[] = {kMaskedTask, kWhole,    kJoined,    kRate,
                                         kNoDecay,    kNoWarmup, kNoClipping};
// With Flax: no clipping, and rows that do not fill a batch are left out.
constexpr ScriptDefault kFlax[] = {kRate,        kNoDecay,    kNoWarmup,
                                   kBertEpsilon, kNoClipping, kDropLast};
constexpr ScriptDefault kFlaxNer[] = {kNerTask,     kRate,       kNoDecay, kNoWarmup,
                                      kBertEpsilon, kNoClipping, kDropLast};
constexpr ScriptDefault kFlaxQuestions[] = {kLong,        kRate,       kNoDecay, kNoWarmup,
                                            kBertEpsilon, kNoClipping, kDropLast};
constexpr ScriptDefault kFlaxMasked[] = {kMaskedTask, kWhole,    kJoined,     kRate,
                                         kNoDecay,    kNoWarmup, kNoClipping, kDropLast};
// model.fit() of sentence-transformers before version 3.
constexpr ScriptDefault kFit[] = {{"learning-rate", "2e-5", true}, {"epochs", "1", true}};
// google-research/bert and Model Garden.
constexpr ScriptDefault kBertClassifier[] = {kLowerCase, kBertBatch, kRate, kBertEpsilon};
constexpr ScriptDefault kBertSquad[] = {kLowerCase, kLong, kBertBatch, kRate, kBertEpsilon};
// The first version of BERT for PyTorch, of which NVIDIA's is one.
constexpr ScriptDefault kTorchBert[] = {kBertBatch, kRate, kBertEpsilon};
constexpr ScriptDefault kTorchSquad[] = {kLong, kBertBatch, kRate, kBertEpsilon};
constexpr ScriptDefault kGarden[] = {kBertBatch, kRate, kBertEpsilon};
constexpr ScriptDefault kGardenSquad[] = {kLowerCase, kBertBatch, kRate, kBertEpsilon};

constexpr std::string_view kStep =
    "is the step from one window to the next in this script, and in berth what two windows share";
constexpr std::string_view kNoCorrection =
    "does not correct the bias of Adam's means as berth does, so the first updates differ. After a "
    "warm-up of a share w, its learning rate is 1 - w times berth's: scale --learning-rate by that "
    "to have the same";

constexpr std::string_view kFallsAtOnce =
    "has a learning rate that falls from the first update on. After a warm-up of a share w, it is "
    "1 - w times berth's: scale --learning-rate by that to have the same";
constexpr std::string_view kClipsEach =
    "clips the gradient of each tensor by itself and does not correct the bias of Adam's means, so "
    "the updates differ. In versions before 0.6, the learning rate after a warm-up of a share w is "
    "1 - w times berth's";
constexpr std::string_view kConverts =
    "has no effect: it counts processes that prepare the rows, which berth does on one thread";

constexpr auto kGpus = ScriptDevices::kAllGpus;
constexpr auto kAll = ScriptDevices::kAll;

constexpr TrainingScript kTrainerScripts[] = {
    {"run_glue.py", kTrainer, kGpus},
    {"run_glue_no_trainer.py", kBare},
    {"run_classification.py", kTrainer, kGpus},
    {"run_ner.py", kNer, kGpus},
    {"run_ner_no_trainer.py", kBareNer},
    {"run_qa.py", kQuestions, kGpus},
    {"run_qa_no_trainer.py", kBareQuestions},
    {.name = "run_squad.py",
     .defaults = kQuestions,
     .devices = kGpus,
     .doc_stride = kStep,
     .dev_file = "predict_file",
     .threads = kConverts},
    {"run_squad_trainer.py", kQuestions, kGpus},
    {.name = "run_mlm.py", .defaults = kMasked, .devices = kGpus, .sets_aside = SetsAside::kAll},
    {.name = "run_mlm_no_trainer.py", .defaults = kBareMasked, .sets_aside = SetsAside::kAll},
    {.name = "run_mlm_wwm.py",
     .defaults = kMaskedLines,
     .devices = kGpus,
     .sets_aside = SetsAside::kDataSets},
    {"run_language_modeling.py", kMasked, kGpus},
    {"run_lm_finetuning.py", kEarlyMasked, kGpus},
    {"run_xnli.py", kTrainer, kGpus},
    {"Trainer", kTrainer, kGpus},
    {.name = "fit", .defaults = kFit, .batch = BatchOf::kUpdate},
    {.name = kExperimentScript, .defaults = {}, .doc_stride = kStep, .batch = BatchOf::kUpdate},
};

constexpr TrainingScript kEarlyScripts[] = {
    {"run_ner.py", kEarlyNer, kGpus},
};

constexpr TrainingScript kFlaxScripts[] = {
    {.name = "run_mlm_flax.py",
     .defaults = kFlaxMasked,
     .devices = kAll,
     .sets_aside = SetsAside::kAll},
    {"run_flax_glue.py", kFlax, kAll},
    {"run_flax_ner.py", kFlaxNer, kAll},
    {"run_qa.py", kFlaxQuestions, kAll},
};

constexpr TrainingScript kBertScripts[] = {
    {.name = "run_classifier.py",
     .defaults = kBertClassifier,
     .note = kNoCorrection,
     .batch = BatchOf::kProcess},
    {.name = "run_squad.py",
     .defaults = kBertSquad,
     .doc_stride = kStep,
     .note = kNoCorrection,
     .batch = BatchOf::kProcess},
};

constexpr TrainingScript kPretrainedScripts[] = {
    {.name = "run_classifier.py",
     .defaults = kTorchBert,
     .devices = kGpus,
     .note = kClipsEach,
     .batch = BatchOf::kProcess},
    {.name = "run_glue.py",
     .defaults = kTorchBert,
     .devices = kGpus,
     .note = kClipsEach,
     .batch = BatchOf::kProcess},
    {.name = "run_squad.py",
     .defaults = kTorchSquad,
     .devices = kGpus,
     .doc_stride = kStep,
     .note = kClipsEach,
     .batch = BatchOf::kProcess},
};

constexpr TrainingScript kGardenScripts[] = {
    {.name = "run_classifier.py",
     .defaults = kGarden,
     .note = kFallsAtOnce,
     .batch = BatchOf::kUpdate},
    {.name = "run_squad.py",
     .defaults = kGardenSquad,
     .doc_stride = kStep,
     .note = kFallsAtOnce,
     .dev_file = "predict_file",
     .batch = BatchOf::kUpdate},
};

bool types_any(const TypedCommand& command, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(command.arguments(), [&](const TypedArgument& argument) {
    return !argument.typed.empty() &&
           std::ranges::find(names, std::string_view(argument.typed).substr(2)) != names.end();
  });
}

}  // namespace

bool is_known_script(std::string_view name) {
  const auto is_among = [&](std::span<const TrainingScript> scripts) {
    return std::ranges::find(scripts, name, &TrainingScript::name) != scripts.end();
  };
  return is_among(kTrainerScripts) || is_among(kFlaxScripts) || is_among(kBertScripts) ||
         is_among(kGardenScripts) || is_among(kPretrainedScripts) || !refused_script(name).empty();
}

int64_t micro_batch_of(const TrainingScript& script) {
  const auto row =
      std::ranges::find(script.defaults, std::string_view("batch-size"), &ScriptDefault::flag);
  constexpr int64_t kOfTrainer = 8;
  return row == script.defaults.end()
             ? kOfTrainer
             : static_cast<int64_t>(parse_number(row->value).value_or(kOfTrainer));
}

const TrainingScript* find_script(std::string_view name, std::string_view path,
                                  const TypedCommand& command) {
  const auto among = [&](std::span<const TrainingScript> scripts) {
    const auto found = std::ranges::find(scripts, name, &TrainingScript::name);
    return found == scripts.end() ? nullptr : &*found;
  };
  const bool is_garden =
      types_any(command, {"mode", "model_dir", "train_data_path", "input_meta_data_path"});
  if (is_garden) {
    if (const TrainingScript* script = among(kGardenScripts)) return script;
  }
  const bool is_flax = path.find("flax") != std::string_view::npos;
  if (is_flax) {
    if (const TrainingScript* script = among(kFlaxScripts)) return script;
  }
  if (types_any(command, {"bert_model"})) {
    if (const TrainingScript* script = among(kPretrainedScripts)) return script;
  }
  // Other scripts around BERT's first code have names of scripts of transformers.
  const bool is_of_transformers = types_any(command, {"bert_model", "model_name_or_path"});
  if (!is_of_transformers && name.starts_with("run_") &&
      types_any(command, {"bert_config_file", "init_checkpoint"})) {
    return among(kBertScripts);
  }
  if (types_any(command, {"data_dir", "labels"})) {
    if (const TrainingScript* script = among(kEarlyScripts)) return script;
  }
  if (!types_any(command, {"model_name_or_path"})) {
    if (const TrainingScript* script = among(kBertScripts)) return script;
  }
  return among(kTrainerScripts);
}

}  // namespace berth
