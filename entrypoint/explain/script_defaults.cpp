#include "entrypoint/explain/script_defaults.h"

#include <algorithm>
#include <array>

namespace berth {
namespace {

constexpr ScriptDefault kRate = {"learning-rate", "5e-5", true};
constexpr ScriptDefault kNoDecay = {"weight-decay", "0", true};
constexpr ScriptDefault kNoWarmup = {"warmup-ratio", "0", true};
constexpr ScriptDefault kBertEpsilon = {"adam-epsilon", "1e-6", true};
constexpr ScriptDefault kBertBatch = {"batch-size", "32", true};
constexpr ScriptDefault kLowerCase = {"do-lower-case", "", false};
constexpr ScriptDefault kLong = {"max-seq-length", "384", false};
constexpr ScriptDefault kWhole = {"max-seq-length", "512", false};

constexpr ScriptDefault kTrainer[] = {kRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kNer[] = {{"task", "ner", false}, kWhole, kRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kShortNer[] = {{"task", "ner", false}, kRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kQuestions[] = {kLong, kRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kMasked[] = {{"task", "mlm", false},
                                     kWhole,
                                     {"attend-across-documents", "", true},
                                     {"validation-split", "0.05", true},
                                     kRate,
                                     kNoDecay,
                                     kNoWarmup};
constexpr ScriptDefault kBertClassifier[] = {kLowerCase, kBertBatch, kRate, kBertEpsilon};
constexpr ScriptDefault kBertSquad[] = {kLowerCase, kLong, kBertBatch, kRate, kBertEpsilon};
constexpr ScriptDefault kBertPretraining[] = {
    {"task", "mlm", false}, kBertBatch, kRate, kBertEpsilon};
constexpr ScriptDefault kGarden[] = {kBertBatch, kRate, kBertEpsilon};

constexpr std::string_view kDecoder = "this script trains decoders, and berth trains encoders";
constexpr std::string_view kBeams =
    "berth finds answers without a beam: run_qa.py is what --task question_answering does";
constexpr std::string_view kPrepares =
    "berth masks texts as it trains; --mode prepare --task mlm cleans and tokenizes them before";
constexpr std::string_view kFeatures = "berth trains models; it writes no features of texts";
constexpr std::string_view kStep =
    "is the step from one window to the next in this script, and in berth what two windows share";

constexpr std::string_view kNoCorrection =
    "does not correct the bias of Adam's means as berth does, so the first updates differ";

constexpr TrainingScript kTrainerScripts[] = {
    {"run_glue.py", kTrainer},
    {"run_glue_no_trainer.py", kTrainer},
    {"run_classification.py", kTrainer},
    {"run_ner.py", kNer},
    {"run_ner_no_trainer.py", kShortNer},
    {"run_qa.py", kQuestions},
    {"run_qa_no_trainer.py", kQuestions},
    {"run_squad.py", kQuestions},
    {"run_mlm.py", kMasked},
    {"run_mlm_no_trainer.py", kMasked},
    {"run_xnli.py", kTrainer},
    {"run_clm.py", {}, kDecoder},
    {"run_clm_no_trainer.py", {}, kDecoder},
    {"run_fim.py", {}, kDecoder},
    {"run_fim_no_trainer.py", {}, kDecoder},
    {"run_plm.py", {}, kDecoder},
    {"run_seq2seq_qa.py", {}, kDecoder},
    {"run_summarization.py", {}, kDecoder},
    {"run_translation.py", {}, kDecoder},
    {"run_qa_beam_search.py", {}, kBeams},
    {"run_qa_beam_search_no_trainer.py", {}, kBeams},
};

constexpr TrainingScript kBertScripts[] = {
    {.name = "run_classifier.py", .defaults = kBertClassifier, .note = kNoCorrection},
    {.name = "run_squad.py", .defaults = kBertSquad, .doc_stride = kStep, .note = kNoCorrection},
    {.name = "run_pretraining.py", .defaults = kBertPretraining, .note = kNoCorrection},
    {.name = "create_pretraining_data.py", .defaults = {}, .refused = kPrepares},
    {.name = "extract_features.py", .defaults = {}, .refused = kFeatures},
};

constexpr TrainingScript kGardenScripts[] = {
    {"run_classifier.py", kGarden},
    {"run_squad.py", kGarden},
    {"run_pretraining.py", kBertPretraining},
};

bool types_any(const TypedCommand& command, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(command.arguments(), [&](const TypedArgument& argument) {
    return !argument.typed.empty() &&
           std::ranges::find(names, std::string_view(argument.typed).substr(2)) != names.end();
  });
}

}  // namespace

const TrainingScript* find_script(std::string_view name, const TypedCommand& command) {
  const auto among = [&](std::span<const TrainingScript> scripts) {
    const auto found = std::ranges::find(scripts, name, &TrainingScript::name);
    return found == scripts.end() ? nullptr : &*found;
  };
  const bool is_garden =
      types_any(command, {"mode", "model_dir", "train_data_path", "input_meta_data_path"});
  if (is_garden) {
    if (const TrainingScript* script = among(kGardenScripts)) return script;
  }
  if (!types_any(command, {"model_name_or_path"})) {
    if (const TrainingScript* script = among(kBertScripts)) return script;
  }
  return among(kTrainerScripts);
}

}  // namespace berth
