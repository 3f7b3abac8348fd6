#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/dtype.h"
#include "trainer/model/functions.h"
#include "trainer/model/reranking.h"
#include "trainer/model/similarity.h"
#include "trainer/model/task.h"

namespace berth {

// The architectures, which Hugging Face calls model_type. architecture.h says in what they differ.
enum class ModelType {
  kBert,
  kRoberta,
  kXlmRoberta,
  kCamembert,
  kData2VecText,
  kDistilBert,
  kElectra,
  kAlbert,
  kDebertaV2,
  kModernBert,
  kMpnet,
  kNomicBert,
  kRoFormer,
  kMegatronBert,
  kRobertaPreLayerNorm,
  kXlmRobertaXl,
  kErnie
};

// The sizes in which the generator of an ELECTRA differs from its discriminator.
struct GeneratorSizes {
  int64_t num_hidden_layers = 0, hidden_size = 0, num_attention_heads = 0, intermediate_size = 0;
};

// A Dense module of sentence-transformers, behind the pooling: y = activation(x w^T + bias).
struct DenseModule {
  std::string folder{};  // of its files, below the folder of modules.json
  int64_t inputs = 0, outputs = 0;
  bool has_bias = true;
  std::optional<Activation> activation{};  // empty: none
  bool operator==(const DenseModule&) const = default;
};

// The configuration of a model. Its fields are named as in Hugging Face's config.json, which
// defines the fields that have no comment here.
struct ModelConfig {
  ModelType type = ModelType::kBert;
  Task task = kDefaultTask;          // chosen by the caller, not by the file
  std::optional<Task> saved_task{};  // the task that the file was saved for, if known
  int64_t vocab_size = 0;
  int64_t embedding_size = 0;  // ELECTRA, ALBERT: projected to hidden_size; 0: as hidden_size
  int64_t hidden_size = 0;
  int64_t num_hidden_layers = 0;
  int64_t num_attention_heads = 0;
  int64_t intermediate_size = 0;
  int64_t max_position_embeddings = 0;
  int64_t type_vocab_size = 2;       // 0: there are no token types
  int64_t task_type_vocab_size = 0;  // ERNIE; all texts are of task type 0; 0: there are none
  int64_t num_hidden_groups = 0;     // ALBERT: the number of different layers; 0: all are different
  int64_t pad_token_id = 0;  // its word embedding does not learn; -1 (null): all of them learn
  Activation hidden_act = Activation::kGelu;
  // DeBERTa's.
  bool has_absolute_positions = true;  // in addition to the relative ones
  bool normalizes_relative_positions = false;
  int64_t max_relative_positions = 0;
  int64_t position_buckets = 0;  // 0: each relative position has an embedding of its own
  int64_t conv_kernel_size = 0;  // 0: there is no convolution beside the first layer
  Activation conv_act = Activation::kTanh;
  Activation pooler_act = Activation::kGelu;
  double context_pooler_dropout = 0;
  // Layers normalize before each of their halves, and once behind the last layer, and not after
  // each half.
  bool normalizes_first = false;
  // ModernBERT's (Warner et al. 2024, arXiv:2412.13663). NomicBERT has some of it: the gate, rotary
  // positions, the joined matrix and layers without biases. All dense layers and normalizations of
  // the other architectures have biases.
  bool is_gated = false;        // feed-forward: output(dropout(activation(a) * b)), a and b [F]
  bool has_joined_qkv = false;  // query, key and value are one matrix in the file
  bool has_attention_bias = true, has_mlp_bias = true, has_norm_bias = true;
  bool has_classifier_bias = true;  // of the dense layer before the classifier
  double mlp_dropout = 0;           // of activation(a) * b
  bool pools_mean = false;  // heads of sequences read the mean of the tokens, not the first one
  double rope_theta = 0;    // the base of rotary positions; 0: there are none
  bool rotary_turns_neighbours = false;  // RoFormer's pairs (Su et al. 2021): see RotaryAngles
  double local_rope_theta = 0;
  // In layers with local attention, a token attends to the tokens that are at most half as far away
  // as this. By layer; empty: no layer is local.
  int64_t local_attention = 0;
  std::vector<bool> local_layers{};
  // MPNet's (Song et al. 2020, arXiv:2004.09297): the number of buckets of distances. Each head has
  // a learnt bias of scores for each bucket, which all layers share. 0: there is no bias.
  int64_t position_bias_buckets = 0;
  double hidden_dropout_prob = 0.1;
  double attention_probs_dropout_prob = 0.1;
  std::optional<double> classifier_dropout{};  // empty: as hidden_dropout_prob
  double qa_dropout = 0;                       // DistilBERT's
  double summary_dropout = 0.1;                // ELECTRA's, for multiple choice
  double initializer_range = 0.02;
  double initializer_cutoff_factor = 0;  // ModernBERT's, of normal values; 0: they have no limit
  double layer_norm_eps = 1e-12;

  // id2label, by id. Empty: the file has no names. Where outputs are not classes, these are
  // output_labels() of the task, unless the file has a name of its own.
  std::vector<std::string> labels{};

  // label_thresholds, for LabelKind::kSet: above which probability each label is predicted. The key
  // is berth's own. Empty: 0.5.
  std::vector<double> label_thresholds{};

  // tie_word_embeddings: what predicts masked tokens multiplies by the word embeddings. If not, the
  // head has a matrix of its own.
  bool ties_word_embeddings = true;

  // Columns of the logits where labels are vectors. They are chosen by the caller: the hidden size
  // of the teacher.
  int64_t vector_size = 0;

  // For HeadRows::kPooled and kGroups, and chosen by the caller: how a text's embedding is made,
  // and whether it is then scaled to length 1, as sentence-transformers' Normalize does. No engine
  // scales: whoever writes embeddings does.
  Pooling pooling = Pooling::kMean;
  std::vector<DenseModule> dense_modules{};  // in their order, before the scaling
  bool normalizes_embeddings = false;
  // The most sequences of a row of data, for InputKind::kTextGroup, and the fewest: rows to
  // evaluate on and other sources of rows may have more or fewer. 0: all rows have as many.
  int64_t texts_per_row = 1, fewest_texts_per_row = 0;
  SimilarityObjective similarity{};
  // The objectives of several sources of rows, by PackedBatch::source. Empty: there is one source.
  std::vector<SimilarityObjective> sources{};  // for HeadRows::kGroups
  RerankingObjective reranking{};              // for LossKind::kReranking

  // For HeadRows::kReplaced, and chosen by the caller: the generator that learns beside the model.
  std::optional<GeneratorSizes> generator{};
  // Whether this is that generator: the names of its parameters have a prefix, except for the
  // embeddings, which are the discriminator's (see generator.h).
  bool is_generator = false;

  // The text that this was parsed from. Keys that berth does not use are written back from it.
  std::string source_json{};

  // Some rows of the data have this number of sequences.
  void expect_texts(int64_t texts) {
    const int64_t fewest = fewest_texts_per_row;
    fewest_texts_per_row = fewest > 0 ? std::min(fewest, texts) : texts;
    texts_per_row = std::max(texts_per_row, texts);
  }

  int64_t embedding_width() const { return embedding_size > 0 ? embedding_size : hidden_size; }
  // The numbers of a text's embedding.
  int64_t embedding_dimension() const {
    return dense_modules.empty() ? hidden_size : dense_modules.back().outputs;
  }
  int64_t head_size() const { return hidden_size / num_attention_heads; }
  bool is_of_sequences() const { return traits(task).rows == HeadRows::kSequences; }
  // Whether the head reads only the first token of each sequence.
  bool reads_first_tokens() const { return is_of_sequences() && !pools_mean; }
  // Whether heads of tokens have a dense layer with normalization before the classifier, too.
  bool transforms_tokens() const;
  // Columns of the logits. Not for masked tokens, whose logits have vocab_size columns.
  int64_t num_outputs() const {
    const TaskTraits& row = traits(task);
    if (row.rows == HeadRows::kPooled) return embedding_dimension();
    if (row.rows == HeadRows::kStates) return hidden_size;
    if (are_vectors(row.labels)) return vector_size;
    if (row.rows == HeadRows::kGroups) return row.loss == LossKind::kInBatchNegatives ? 2 : 1;
    return row.outputs > 0 ? row.outputs : static_cast<int64_t>(labels.size());
  }
  // Dropout before the classifier.
  double head_dropout() const;
  // Dropout of the first token's hidden state, before the dense layer of the head.
  double pooler_dropout() const;
  // The largest distance between two tokens that attend to each other in this layer; -1: no limit.
  int64_t attention_window(int64_t layer) const {
    const auto i = static_cast<size_t>(layer);
    return i < local_layers.size() && local_layers[i] ? local_attention / 2 : -1;
  }
  // The base of the layer's rotary positions; 0: there are none.
  double rope_base(int64_t layer) const {
    return attention_window(layer) >= 0 ? local_rope_theta : rope_theta;
  }
  // Whether attention is disentangled (He et al. 2020, arXiv:2006.03654): the queries and keys of
  // relative positions take part in its scores.
  bool has_relative_positions() const { return max_relative_positions > 0; }
  // The relative positions from -span to span - 1 have embeddings.
  int64_t relative_span() const {
    return position_buckets > 0 ? position_buckets : max_relative_positions;
  }

  // Whether the second text of a pair may have another token type than the first. Most RoBERTas
  // have one type, which their tokenizers do not give.
  bool has_token_types() const { return type_vocab_size > (counts_from_padding() ? 1 : 0); }

  // RoBERTa and MPNet number positions from the id behind their padding token.
  bool counts_from_padding() const;
  int64_t first_position() const { return counts_from_padding() ? pad_token_id + 1 : 0; }
  int64_t max_sequence_length() const { return max_position_embeddings - first_position(); }

  // Dropout of the output of each half of a layer, before the residual is added. DistilBERT has
  // none behind attention, ALBERT and ModernBERT have none behind the feed-forward part. Behind
  // attention, ModernBERT uses the dropout of the probabilities; its hidden_dropout_prob is for
  // embeddings.
  double attention_output_dropout() const;
  double feed_forward_dropout() const;
};

// The model_type of config.json: "bert", "xlm-roberta", ...
std::string_view model_type_name(ModelType type);

// The dtype of config.json: "float32", "bfloat16" or "float16".
std::string_view torch_dtype_name(DType dtype);

// Parses a config.json or bert_config.json. Throws kUsage, naming the key, if a key is missing, is
// out of range, or asks for something that berth does not compute. Throws kCorrupt if the text is
// not JSON.
ModelConfig parse_config(std::string_view json_text);

// The text of config.json for transformers, for a model of the config's task whose parameters are
// saved as `dtype`.
std::string to_config_json(const ModelConfig& config, DType dtype = DType::kF32);

struct ModelConfig;

// The text of bert_config.json (of albert_config.json for an ALBERT), as google-research/bert and
// TensorFlow's Model Garden read it. It holds their keys only, so it has no labels and no epsilon
// of layer normalization, which is 1e-12 there. Their "gelu" is the tanh approximation. A model
// that was trained with the exact GELU is written as "gelu" too, since they have nothing closer.
std::string to_bert_config_json(const ModelConfig& config);

}  // namespace berth
