#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trainer/model/config.h"
#include "trainer/model/config_keys.h"

// The table of architectures. A row holds everything in which one architecture differs from BERT:
// the keys and defaults of its config.json, the names of its parameters, and where dropout is
// applied. No other code compares architectures. A member that a row leaves out has BERT's value.
namespace berth {

// The keys of config.json. nullptr: the architecture has no such key.
struct ConfigKeys {
  const char* hidden_size = "hidden_size";
  const char* num_hidden_layers = "num_hidden_layers";
  const char* num_attention_heads = "num_attention_heads";
  const char* intermediate_size = "intermediate_size";
  const char* hidden_act = "hidden_act";
  const char* hidden_dropout_prob = "hidden_dropout_prob";
  const char* attention_probs_dropout_prob = "attention_probs_dropout_prob";
  const char* classifier_dropout = "classifier_dropout";  // nullptr: as hidden_dropout_prob
  const char* type_vocab_size = "type_vocab_size";
  const char* layer_norm_eps = "layer_norm_eps";
  const char* embedding_size = nullptr;
  const char* num_hidden_groups = nullptr;  // read with the fallback 1
  const char* qa_dropout = nullptr;         // read with the fallback 0.1
  const char* mlp_dropout = nullptr;        // read with the fallback 0
};

// What keys mean that config.json leaves out.
struct ConfigDefaults {
  const char* hidden_act = "gelu";
  double dropout = 0.1;  // both hidden_dropout_prob and attention_probs_dropout_prob
  std::optional<double> classifier_dropout{};  // empty: as hidden_dropout_prob
  double layer_norm_eps = 1e-12;
  int64_t pad_token_id = 0;
  int64_t type_vocab_size = 2;
  int64_t least_type_vocab_size = 1;  // a file may not have less
  int64_t embedding_size = 128;       // 0: as hidden_size
};

// The names of parameters, as part_names.h defines them, behind the prefix of the encoder. nullptr:
// the architecture has no such part.
struct EmbeddingParts {
  const char* word = "embeddings.word_embeddings";
  const char* position = "embeddings.position_embeddings";
  const char* token_type = "embeddings.token_type_embeddings";
  const char* norm = "embeddings.LayerNorm";  // nullptr: the sums are not normalized
  const char* projection = "embeddings_project";
  bool always_projects = false;  // even where embeddings are as wide as hidden states
};

struct LayerParts {
  // '#' stands for the number of the layer, or of the layer's group where layers are in groups.
  const char* layer = "encoder.layer.#.";
  // Behind the name of the layer.
  const char* qkv = nullptr;
  const char* query = "attention.self.query";
  const char* key = "attention.self.key";
  const char* value = "attention.self.value";
  const char* attention_output = "attention.output.dense";
  const char* attention_norm = "attention.output.LayerNorm";
  const char* gate = nullptr;
  const char* intermediate = "intermediate.dense";
  const char* output = "output.dense";
  const char* output_norm = "output.LayerNorm";
  // Where layers normalize first, the norm behind a layer is the next layer's output_norm. This is
  // the one behind the last layer, behind the encoder's prefix. nullptr: layers normalize behind
  // each half.
  const char* final_norm = nullptr;
  // Whether the first layer has an output_norm before it, too.
  bool first_normalizes = true;
};

// A fixed activation, or a field of the config.
struct HeadActivation {
  Activation fixed = Activation::kTanh;
  Activation ModelConfig::*field = nullptr;

  Activation of(const ModelConfig& config) const { return field ? config.*field : fixed; }
};

// Whole names, as in part_names.h.
struct SequenceHeadParts {
  const char* dense = "bert.pooler.dense";
  const char* classifier = "classifier";
  const char* norm = nullptr;
  HeadActivation activation{};
  bool drops_before_dense = false;
};

// The layers before the classifier of transformers' class for multiple choice.
enum class ChoiceHead {
  kAsSequences,  // as in the head of sequences
  kPooler,       // the encoder's pooler, whose output has hidden_dropout_prob
  kSummary,      // a summary of the first token
  kNone,         // there is no such class, or it reads the padding
};

struct MaskedLmHeadParts {
  const char* dense = "cls.predictions.transform.dense";
  const char* norm = "cls.predictions.transform.LayerNorm";
  const char* bias = "cls.predictions.bias";
  const char* decoder = "cls.predictions.decoder";  // its bias is an alias of `bias`
  HeadActivation activation{.field = &ModelConfig::hidden_act};
};

struct Architecture {
  ModelType type{};
  std::string_view title{};         // for people: "XLM-RoBERTa"
  std::string_view model_type{};    // of config.json: "xlm-roberta"
  std::string_view class_prefix{};  // of transformers' classes: "XLMRoberta"
  std::string_view prefix{};        // of the encoder's parameters: "roberta."
  std::string_view other_prefix{};  // another one that files have in its place; empty: none

  // The text for transformers of a config.json that another library wrote; nullopt for any other
  // object. nullptr: no other library writes them.
  std::optional<std::string> (*translate)(const Json& object) = nullptr;
  ConfigKeys keys{};
  ConfigDefaults defaults{};
  // Reads the keys that only this architecture has. nullptr: there are none.
  void (*parse)(const ConfigReader& read, ModelConfig& config) = nullptr;

  EmbeddingParts embeddings{};
  LayerParts layer{};
  SequenceHeadParts sequence_head{};
  ChoiceHead choice_head = ChoiceHead::kAsSequences;
  MaskedLmHeadParts masked_lm_head{};
  bool encoder_has_pooler = true;  // files have PREFIXpooler, which other tasks do not need

  bool counts_from_padding = false;  // see ModelConfig
  bool transforms_tokens = false;    // see ModelConfig
  // Whether classifier_dropout is for heads of sequences alone. Other heads have
  // hidden_dropout_prob.
  bool has_sequence_dropout = false;
  // The fields with these dropouts, see ModelConfig. nullptr: there is none.
  double ModelConfig::*attention_output_dropout = &ModelConfig::hidden_dropout_prob;
  double ModelConfig::*feed_forward_dropout = &ModelConfig::hidden_dropout_prob;
  double ModelConfig::*pooler_dropout = nullptr;  // nullptr: as head_dropout()

  // Whether initial values depend on the number of layers, as ModernBERT's do.
  bool initializes_by_depth = false;
  bool has_tensorflow_names = false;  // TensorFlow's checkpoints have names for its parameters
  bool has_peft_names = true;         // PEFT has names for its adapters
  bool has_discriminator = false;     // it can detect tokens that a generator replaced
  // The layer behind the pooler that says how two texts follow each other. nullptr: the
  // architecture is not pre-trained so.
  const char* next_sentence = nullptr;
  bool drops_next_sentence = false;  // head_dropout() is applied between the pooler and this layer
};

// All rows, in the order of the enumeration.
std::span<const Architecture> architectures();
const Architecture& architecture(ModelType type);
// The model_types of the table for messages: "bert, roberta, ...".
std::string known_model_types();

}  // namespace berth
