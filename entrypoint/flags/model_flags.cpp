#include "entrypoint/flags/flag_table.h"

namespace berth {
namespace {

auto data(auto member) { return place(&CommandLine::settings, &Settings::data, member); }
auto model(auto member) { return place(&CommandLine::settings, &Settings::model, member); }

}  // namespace

std::vector<Flag> model_flags() {
  using enum FlagGroup;
  return {
      {"model",
       {"init-checkpoint", "model-name-or-path", "predict-checkpoint-path"},
       kModel,
       "Parameters to start from: a directory, .tar.gz or .zip archive or file in Hugging Face "
       "layout, a TensorFlow checkpoint, or the directory of an earlier job.",
       text_value("PATH", model(&ModelOptions::model)),
       "the bundled tiny model"},
      {"init",
       {},
       kModel,
       "Start from the model's parameters, or from random ones of the same shape.",
       choice_value<Init>(model(&ModelOptions::init),
                          {{"pretrained", Init::kPretrained}, {"random", Init::kRandom}})},
      {"model-config",
       {"bert-config-file", "config", "config-name"},
       kModel,
       "The encoder's config.json or bert_config.json.",
       text_value("FILE", model(&ModelOptions::model_config)),
       "the model's own"},
      {"vocab-file",
       {},
       kModel,
       "The vocab.txt of a model that has it elsewhere.",
       text_value("FILE", model(&ModelOptions::vocab_file)),
       "the model's own"},
      {"do-lower-case",
       {},
       kModel,
       "Lower-case the text and strip its accents.",
       switch_value(model(&ModelOptions::do_lower_case)),
       "as the model's tokenizer says"},
      {"max-seq-length",
       {"max-seq-len", "max-length"},
       kModel,
       "Longest input in tokens, [CLS] and [SEP] included; longer texts are cut.",
       integer_value(data(&DataOptions::max_seq_length), {kShortestSequence, kLongestSequence})},
  };
}

}  // namespace berth
