#include "entrypoint/explain/script_defaults.h"

#include <algorithm>
#include <array>

#include "entrypoint/explain/garden_experiment.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr ScriptDefault kDefaultRate = {"learning-rate", "5e-5", true};
constexpr ScriptDefault kNoDecay = {"weight-decay", "0", true};
constexpr ScriptDefault kNoWarmup = {"warmup-ratio", "0", true};
constexpr ScriptDefault kNoClipping = {"max-grad-norm", "0", true};
constexpr ScriptDefault kDropLast = {"drop-remainder", "", true};
constexpr ScriptDefault kBertEpsilon = {"adam-epsilon", "1e-6", true};
constexpr ScriptDefault kBertBatch = {"batch-size", "32", true};
constexpr ScriptDefault kLowerCase = {"do-lower-case", "", false};
constexpr ScriptDefault kLong = {"max-seq-length", "384", false};
constexpr ScriptDefault kWhole = {"max-seq-length", "512", false};
constexpr ScriptDefault kChoiceTask = {"task", "multiple_choice", false};
constexpr ScriptDefault kNerTask = {"task", "ner", false};
constexpr ScriptDefault kMaskedTask = {"task", "mlm", false};
constexpr ScriptDefault kJoined = {"attend-across-documents", "", false};

// With Trainer.
constexpr ScriptDefault kTrainer[] = {kDefaultRate, kNoDecay, kNoWarmup};
// As of early transformers, which cuts at 128 tokens.
constexpr ScriptDefault kEarlyNer[] = {kNerTask, kDefaultRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kNer[] = {kNerTask, kWhole, kDefaultRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kChoices[] = {kChoiceTask, kWhole, kDefaultRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kQuestions[] = {kLong, kDefaultRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kMasked[] = {kMaskedTask,  kWhole,   kJoined,
                                     kDefaultRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kEarlyMasked[] = {
    kMaskedTask,           kWhole,       kJoined,  {"batch-size", "4", true},
    {"epochs", "1", true}, kDefaultRate, kNoDecay, kNoWarmup};
constexpr ScriptDefault kMaskedLines[] = {kMaskedTask,
                                          kWhole,
                                          {"line-by-line", "", false},
                                          {"whole-word-masking", "", true},
                                          kDefaultRate,
                                          kNoDecay,
                                          kNoWarmup};
// The scripts named *_no_trainer.py do not clip gradients.
constexpr ScriptDefault kBare[] = {kDefaultRate, kNoDecay, kNoWarmup, kNoClipping};
constexpr ScriptDefault kBareNer[] = {kNerTask, kDefaultRate, kNoDecay, kNoWarmup, kNoClipping};
constexpr ScriptDefault kBareChoices[] = {kChoiceTask, kDefaultRate, kNoDecay, kNoWarmup,
                                          kNoClipping};
constexpr ScriptDefault kBareQuestions[] = {kLong, kDefaultRate, kNoDecay, kNoWarmup, kNoClipping};
constexpr ScriptDefault kBareMasked[] = {kMaskedTask, kWhole,    kJoined,    kDefaultRate,
                                         kNoDecay,    kNoWarmup, kNoClipping};
// With Flax: no clipping, and rows that do not fill a batch are left out.
constexpr ScriptDefault kFlax[] = {kDefaultRate, kNoDecay,    kNoWarmup,
                                   kBertEpsilon, kNoClipping, kDropLast};
constexpr ScriptDefault kFlaxNer[] = {kNerTask,     kDefaultRate, kNoDecay, kNoWarmup,
                                      kBertEpsilon, kNoClipping,  kDropLast};
constexpr ScriptDefault kFlaxQuestions[] = {kLong,        kDefaultRate, kNoDecay, kNoWarmup,
                                            kBertEpsilon, kNoClipping,  kDropLast};
constexpr ScriptDefault kFlaxMasked[] = {kMaskedTask, kWhole,    kJoined,     kDefaultRate,
                                         kNoDecay,    kNoWarmup, kNoClipping, kDropLast};
// model.fit() of sentence-transformers before version 3.
constexpr ScriptDefault kFit[] = {{"learning-rate", "2e-5", true}, {"epochs", "1", true}};
// google-research/bert and Model Garden.
constexpr ScriptDefault kBertClassifier[] = {kLowerCase, kBertBatch, kDefaultRate, kBertEpsilon};
constexpr ScriptDefault kBertSquad[] = {kLowerCase, kLong, kBertBatch, kDefaultRate, kBertEpsilon};
// The first version of BERT for PyTorch, of which NVIDIA's is one.
constexpr ScriptDefault kTorchBert[] = {kBertBatch, kDefaultRate, kBertEpsilon};
constexpr ScriptDefault kTorchSquad[] = {kLong, kBertBatch, kDefaultRate, kBertEpsilon};
constexpr ScriptDefault kGarden[] = {kBertBatch, kDefaultRate, kBertEpsilon};
constexpr ScriptDefault kPretraining[] = {{"max-steps", "100000", true},
                                          {"warmup-steps", "10000", true},
                                          kBertBatch,
                                          kDefaultRate,
                                          kBertEpsilon,
                                          kDropLast};
constexpr ScriptDefault kWritesRecords[] = {kLowerCase};
constexpr ScriptDefault kGardenSquad[] = {kLowerCase, kBertBatch, kDefaultRate, kBertEpsilon};

constexpr std::string_view kStep =
    "is the step from one window to the next in this script, as --doc-step is. For an answer in "
    "several windows the script takes the one with the most context, and berth the best score";
constexpr std::string_view kNoCorrection =
    "does not correct the bias of Adam's means as berth does, so the first updates differ";
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
    {.name = "run_squad_trainer.py", .defaults = kQuestions, .devices = kGpus, .doc_stride = kStep},
    {"run_swag.py", kChoices, kGpus},
    {"run_swag_no_trainer.py", kBareChoices},
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
     .batch = BatchOf::kProcess,
     .falls_at_once = true},
    {.name = "run_squad.py",
     .defaults = kBertSquad,
     .doc_stride = kStep,
     .note = kNoCorrection,
     .batch = BatchOf::kProcess,
     .falls_at_once = true},
    {.name = "run_pretraining.py",
     .defaults = kPretraining,
     .note = kNoCorrection,
     .batch = BatchOf::kUpdate,
     .falls_at_once = true},
    {.name = "create_pretraining_data.py", .defaults = kWritesRecords, .batch = BatchOf::kUpdate},
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
     .batch = BatchOf::kUpdate,
     .falls_at_once = true},
    {.name = "run_squad.py",
     .defaults = kGardenSquad,
     .doc_stride = kStep,
     .dev_file = "predict_file",
     .batch = BatchOf::kUpdate,
     .falls_at_once = true},
    {.name = "run_pretraining.py",
     .defaults = kPretraining,
     .batch = BatchOf::kUpdate,
     .falls_at_once = true},
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
  const bool is_garden = types_any(
      command, {"mode", "model_dir", "train_data_path", "input_meta_data_path", "input_files"});
  if (is_garden) {
    if (const TrainingScript* script = among(kGardenScripts)) return script;
  }
  const bool is_flax = path.find("flax") != std::string_view::npos;
  if (is_flax) {
    if (const TrainingScript* script = among(kFlaxScripts)) return script;
  }
  // Other scripts around BERT's first code have names of scripts of transformers.
  if (types_any(command, {"bert_model"})) return among(kPretrainedScripts);
  if (!types_any(command, {"model_name_or_path"}) && name.starts_with("run_") &&
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

namespace {

constexpr std::string_view kDecoder = "this script trains decoders, and berth trains encoders";
constexpr std::string_view kBeams =
    "berth finds answers without a beam: run_qa.py is what --task question_answering does";
constexpr std::string_view kFeatures =
    "this script writes the hidden states of tokens; --mode embed writes one vector a text";
constexpr std::string_view kEarlyChoices =
    "it finds the files of SWAG or RACE by --data_dir, and cuts texts in a way of its own. --task "
    "multiple_choice reads these files where --train-data-file and --eval-data-file name them";
constexpr std::string_view kSentencesAlone =
    "berth does not train next sentences alone; --task mlm_nsp trains them together with masked "
    "tokens";
constexpr std::string_view kNoTexts = "berth trains encoders of texts";
constexpr std::string_view kAnalyses = "this script analyses a model, and berth trains models";

constexpr std::string_view kTensorFlow =
    "the scripts for TensorFlow train with optimizers and schedules of their own; explain the line "
    "of the script for PyTorch";

struct RefusedScript {
  std::string_view name, text;
};

constexpr RefusedScript kRefusedScripts[] = {
    // Decoders.
    {"run_clm.py", kDecoder},
    {"run_clm_no_trainer.py", kDecoder},
    {"run_clm_flax.py", kDecoder},
    {"run_fim.py", kDecoder},
    {"run_fim_no_trainer.py", kDecoder},
    {"run_plm.py", kDecoder},
    {"run_generation.py", kDecoder},
    {"run_seq2seq_qa.py", kDecoder},
    {"run_seq2seq.py", kDecoder},
    {"run_summarization.py", kDecoder},
    {"run_summarization_no_trainer.py", kDecoder},
    {"run_summarization_flax.py", kDecoder},
    {"run_translation.py", kDecoder},
    {"run_translation_no_trainer.py", kDecoder},
    {"run_t5_mlm_flax.py", kDecoder},
    {"run_bart_dlm_flax.py", kDecoder},
    {"finetune_trainer.py", kDecoder},
    {"sft.py", kDecoder},
    {"dpo.py", kDecoder},
    // Multiple choice and next sentences.
    {"run_multiple_choice.py", kEarlyChoices},
    {"run_nsp.py", kSentencesAlone},
    // Other tasks.
    {"run_qa_beam_search.py", kBeams},
    {"run_qa_beam_search_no_trainer.py", kBeams},
    {"extract_features.py", kFeatures},
    {"run_bertology.py", kAnalyses},
    {"run_classifier_with_tfhub.py",
     "berth reads checkpoints and model folders: use run_classifier.py with --init_checkpoint"},
    // No texts.
    {"run_image_classification.py", kNoTexts},
    {"run_image_classification_no_trainer.py", kNoTexts},
    {"run_image_classification_flax.py", kNoTexts},
    {"run_image_captioning_flax.py", kNoTexts},
    {"run_audio_classification.py", kNoTexts},
    {"run_speech_recognition_ctc.py", kNoTexts},
    {"run_speech_recognition_seq2seq.py", kNoTexts},
    {"run_flax_speech_recognition_seq2seq.py", kNoTexts},
    {"run_semantic_segmentation.py", kNoTexts},
    {"run_object_detection.py", kNoTexts},
    {"run_clip.py", kNoTexts},
    {"run_hybrid_clip.py", kNoTexts},
    {"run_mae.py", kNoTexts},
    {"run_mim.py", kNoTexts},
    {"run_wav2vec2_pretraining_no_trainer.py", kNoTexts},
};

}  // namespace

std::string_view refused_script(std::string_view name, std::string_view path) {
  if (name.starts_with("run_tf_") || path.find("examples/tensorflow/") != path.npos) {
    return kTensorFlow;
  }
  const auto row = std::ranges::find(kRefusedScripts, name, &RefusedScript::name);
  return row == std::end(kRefusedScripts) ? std::string_view() : row->text;
}

}  // namespace berth
