#include <algorithm>

#include "entrypoint/explain/script_defaults.h"

namespace berth {
namespace {

constexpr std::string_view kDecoder = "this script trains decoders, and berth trains encoders";
constexpr std::string_view kBeams =
    "berth finds answers without a beam: run_qa.py is what --task question_answering does";
constexpr std::string_view kPrepares =
    "berth masks texts as it trains; --mode prepare --task mlm cleans and tokenizes them before";
constexpr std::string_view kFeatures =
    "this script writes the hidden states of tokens; --mode embed writes one vector a text";
constexpr std::string_view kChoices =
    "berth has no multiple choice yet; --task sequence_classification labels single texts or pairs";
constexpr std::string_view kSentences =
    "berth does not predict next sentences; --task mlm pre-trains by masked tokens alone, as "
    "RoBERTa did";
constexpr std::string_view kNoTexts = "berth trains encoders of texts";
constexpr std::string_view kAnalyses = "this script analyses a model, and berth trains models";

constexpr std::string_view kTensorFlow =
    "the scripts for TensorFlow train with optimizers and schedules of their own; explain the line "
    "of the script for PyTorch";

struct RefusedScript {
  std::string_view name, text;
};

constexpr RefusedScript kRefused[] = {
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
    {"run_swag.py", kChoices},
    {"run_swag_no_trainer.py", kChoices},
    {"run_multiple_choice.py", kChoices},
    {"run_nsp.py", kSentences},
    {"run_pretraining.py", kSentences},
    {"create_pretraining_data.py", kPrepares},
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
  const auto row = std::ranges::find(kRefused, name, &RefusedScript::name);
  return row == std::end(kRefused) ? std::string_view() : row->text;
}

}  // namespace berth
