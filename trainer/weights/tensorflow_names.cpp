#include "trainer/weights/tensorflow_names.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "storage/base/text.h"

namespace berth {
namespace {

using Layout = TensorflowLayout;

// One part of a model: TensorFlow's name and Hugging Face's name. "{}" stands for the same number
// in both.
struct Row {
  std::string tensorflow, hugging_face;
  Layout layout;
};

// Collects the rows of one kind of checkpoint.
class Rows {
 public:
  void same(const std::string& tensorflow, const std::string& hugging_face) {
    rows_.push_back({tensorflow, hugging_face, Layout::kSame});
  }
  void dense(const std::string& tensorflow, const std::string& hugging_face) {
    rows_.push_back({tensorflow + "/kernel", hugging_face + ".weight", Layout::kInputsFirst});
    same(tensorflow + "/bias", hugging_face + ".bias");
  }
  // TF Model Garden's layers, whose parameters have a dimension for the heads.
  void einsum_dense(const std::string& tensorflow, const std::string& hugging_face,
                    Layout kernel = Layout::kInputsFirst) {
    rows_.push_back({tensorflow + "/kernel", hugging_face + ".weight", kernel});
    rows_.push_back({tensorflow + "/bias", hugging_face + ".bias", Layout::kVector});
  }
  void norm(const std::string& tensorflow, const std::string& hugging_face) {
    same(tensorflow + "/gamma", hugging_face + ".weight");
    same(tensorflow + "/beta", hugging_face + ".bias");
  }
  // BERT's code makes these variables directly and not through a layer: logits = x W^T + b.
  void output(const std::string& tensorflow, const std::string& hugging_face) {
    same(tensorflow + "output_weights", hugging_face + ".weight");
    same(tensorflow + "output_bias", hugging_face + ".bias");
  }
  void embeddings(const std::string& tensorflow, const std::string& hugging_face) {
    for (const std::string part : {"word", "position", "token_type"}) {
      same(tensorflow + "/" + part + "_embeddings",
           hugging_face + "." + part + "_embeddings.weight");
    }
    norm(tensorflow + "/LayerNorm", hugging_face + ".LayerNorm");
  }

  std::vector<Row> take() { return std::move(rows_); }

 private:
  std::vector<Row> rows_;
};

std::vector<Row> bert_rows() {
  Rows rows;
  rows.embeddings("bert/embeddings", "bert.embeddings");
  const std::string from = "bert/encoder/layer_{}/", to = "bert.encoder.layer.{}.";
  for (const std::string part : {"query", "key", "value"}) {
    rows.dense(from + "attention/self/" + part, to + "attention.self." + part);
  }
  rows.dense(from + "attention/output/dense", to + "attention.output.dense");
  rows.norm(from + "attention/output/LayerNorm", to + "attention.output.LayerNorm");
  rows.dense(from + "intermediate/dense", to + "intermediate.dense");
  rows.dense(from + "output/dense", to + "output.dense");
  rows.norm(from + "output/LayerNorm", to + "output.LayerNorm");
  rows.dense("bert/pooler/dense", "bert.pooler.dense");
  rows.dense("cls/predictions/transform/dense", "cls.predictions.transform.dense");
  rows.norm("cls/predictions/transform/LayerNorm", "cls.predictions.transform.LayerNorm");
  rows.same("cls/predictions/output_bias", "cls.predictions.bias");
  rows.output("cls/seq_relationship/", "cls.seq_relationship");
  rows.output("cls/squad/", "qa_outputs");
  rows.output("", "classifier");
  return rows.take();
}

std::vector<Row> albert_rows() {
  Rows rows;
  rows.embeddings("bert/embeddings", "albert.embeddings");
  rows.dense("bert/encoder/embedding_hidden_mapping_in",
             "albert.encoder.embedding_hidden_mapping_in");
  const std::string from = "bert/encoder/transformer/group_{}/inner_group_0/";
  const std::string to = "albert.encoder.albert_layer_groups.{}.albert_layers.0.";
  for (const std::string part : {"query", "key", "value"}) {
    rows.dense(from + "attention_1/self/" + part, to + "attention." + part);
  }
  rows.dense(from + "attention_1/output/dense", to + "attention.dense");
  rows.norm(from + "LayerNorm", to + "attention.LayerNorm");
  rows.dense(from + "ffn_1/intermediate/dense", to + "ffn");
  rows.dense(from + "ffn_1/intermediate/output/dense", to + "ffn_output");
  rows.norm(from + "LayerNorm_1", to + "full_layer_layer_norm");
  rows.dense("bert/pooler/dense", "albert.pooler");
  rows.dense("cls/predictions/transform/dense", "predictions.dense");
  rows.norm("cls/predictions/transform/LayerNorm", "predictions.LayerNorm");
  rows.same("cls/predictions/output_bias", "predictions.bias");
  rows.output("cls/seq_relationship/", "sop_classifier.classifier");
  rows.output("cls/squad/", "qa_outputs");
  rows.output("", "classifier");
  return rows.take();
}

const std::string kLayer = "bert.encoder.layer.{}.";

// Whole keys of TF Model Garden's BERT (tensorflow/models, official/nlp/modeling) after the prefix
// of the encoder. They consist of the attributes of BertEncoderV2 and its TransformerEncoderBlock.
std::vector<Row> attribute_rows() {
  Rows rows;
  rows.same("_embedding_layer/embeddings", "bert.embeddings.word_embeddings.weight");
  rows.same("_position_embedding_layer/embeddings", "bert.embeddings.position_embeddings.weight");
  rows.same("_type_embedding_layer/embeddings", "bert.embeddings.token_type_embeddings.weight");
  rows.norm("_embedding_norm_layer", "bert.embeddings.LayerNorm");
  rows.einsum_dense("_embedding_projection", "bert.embeddings_project");
  const std::string block = "_transformer_layers/{}/";
  for (const std::string part : {"query", "key", "value"}) {
    rows.einsum_dense(block + "_attention_layer/_" + part + "_dense",
                      kLayer + "attention.self." + part);
  }
  for (const std::string key : {"_attention_layer/_output_dense", "_attention_output_dense"}) {
    rows.einsum_dense(block + key, kLayer + "attention.output.dense", Layout::kOutputsLast);
  }
  rows.norm(block + "_attention_layer_norm", kLayer + "attention.output.LayerNorm");
  rows.einsum_dense(block + "_intermediate_dense", kLayer + "intermediate.dense");
  rows.einsum_dense(block + "_output_dense", kLayer + "output.dense");
  rows.norm(block + "_output_layer_norm", kLayer + "output.LayerNorm");
  rows.einsum_dense("_pooler_layer", "bert.pooler.dense");
  return rows.take();
}

// Ends of full names. They consist of the names of layers and variables, whatever attributes hold
// them.
std::vector<Row> full_name_rows() {
  Rows rows;
  rows.same("word_embeddings/embeddings", "bert.embeddings.word_embeddings.weight");
  rows.same("position_embedding/embeddings", "bert.embeddings.position_embeddings.weight");
  rows.same("type_embeddings/embeddings", "bert.embeddings.token_type_embeddings.weight");
  rows.norm("embeddings/layer_norm", "bert.embeddings.LayerNorm");
  const std::string block = "transformer/layer_{}/";
  for (const std::string part : {"query", "key", "value"}) {
    rows.einsum_dense(block + "self_attention/" + part, kLayer + "attention.self." + part);
  }
  rows.einsum_dense(block + "self_attention/attention_output", kLayer + "attention.output.dense",
                    Layout::kOutputsLast);
  rows.norm(block + "self_attention_layer_norm", kLayer + "attention.output.LayerNorm");
  rows.einsum_dense(block + "intermediate", kLayer + "intermediate.dense");
  rows.einsum_dense(block + "output", kLayer + "output.dense");
  rows.norm(block + "output_layer_norm", kLayer + "output.LayerNorm");
  rows.einsum_dense("pooler_transform", "bert.pooler.dense");
  rows.einsum_dense("pooler_dense", "bert.pooler.dense");  // of a head
  rows.einsum_dense("next_sentence/logits", "cls.seq_relationship");
  rows.einsum_dense("logits", "classifier");
  rows.einsum_dense("cls/predictions/transform/dense", "cls.predictions.transform.dense");
  rows.norm("cls/predictions/transform/LayerNorm", "cls.predictions.transform.LayerNorm");
  rows.same("cls/predictions/output_bias/bias", "cls.predictions.bias");
  return rows.take();
}

// Ends of the keys of heads. They consist of attributes. The dense layer beside an out_proj is the
// pooler: see find_pooler().
std::vector<Row> head_rows() {
  Rows rows;
  rows.same("masked_lm/embedding_table", "bert.embeddings.word_embeddings.weight");
  rows.same("masked_lm/output_bias.Sbias", "cls.predictions.bias");
  rows.same("masked_lm/bias", "cls.predictions.bias");
  rows.einsum_dense("masked_lm/dense", "cls.predictions.transform.dense");
  rows.norm("masked_lm/layer_norm", "cls.predictions.transform.LayerNorm");
  rows.einsum_dense("next_sentence/out_proj", "cls.seq_relationship");
  rows.einsum_dense("out_proj", "classifier");
  return rows.take();
}

const std::vector<Row>& rows_of(TensorflowDialect dialect) {
  static const std::vector<Row> bert = bert_rows(), albert = albert_rows();
  return dialect == TensorflowDialect::kBert ? bert : albert;
}

// In a pattern such as "a/{}/b", the braces stand for one decimal number. match_numbered() returns
// the digits of the number in `name`, nothing if the pattern has no braces, and nullopt if `name`
// does not match. with_number() replaces the braces by a number.
std::optional<std::string_view> match_numbered(std::string_view pattern, std::string_view name) {
  const size_t braces = pattern.find("{}");
  if (braces == std::string_view::npos) {
    return pattern == name ? std::optional(std::string_view()) : std::nullopt;
  }
  const std::string_view front = pattern.substr(0, braces), back = pattern.substr(braces + 2);
  if (name.size() <= front.size() + back.size() || !name.starts_with(front) ||
      !name.ends_with(back)) {
    return std::nullopt;
  }
  name.remove_prefix(front.size());
  name.remove_suffix(back.size());
  if (name.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return name;
}

std::string with_number(std::string_view pattern, std::string_view number) {
  std::string name(pattern);
  if (const size_t braces = name.find("{}"); braces != std::string::npos) {
    name.replace(braces, 2, number);
  }
  return name;
}

// The row whose TensorFlow name is `name`.
std::optional<MappedName> find_whole(std::span<const Row> rows, std::string_view name) {
  for (const Row& row : rows) {
    if (const auto number = match_numbered(row.tensorflow, name)) {
      return MappedName{with_number(row.hugging_face, *number), row.layout};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<MappedName> from_tensorflow1(std::string_view name, TensorflowDialect dialect) {
  constexpr std::string_view kHub = "module/";
  if (name.starts_with(kHub)) name.remove_prefix(kHub.size());
  return find_whole(rows_of(dialect), name);
}

std::optional<MappedName> to_tensorflow1(std::string_view name, TensorflowDialect dialect) {
  for (const Row& row : rows_of(dialect)) {
    if (const auto number = match_numbered(row.hugging_face, name)) {
      return MappedName{with_number(row.tensorflow, *number), row.layout};
    }
  }
  return std::nullopt;
}

namespace {

// Finds the row for the longest part of the key that begins after a "/" and ends with the key.
std::optional<MappedName> find_end(std::span<const Row> rows, std::string_view key) {
  while (true) {
    if (auto found = find_whole(rows, key)) return found;
    const size_t slash = key.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    key.remove_prefix(slash + 1);
  }
}

// The part before `end` of the first key that has this end. It includes the last "/".
std::optional<std::string> prefix_before(const std::set<std::string>& keys, std::string_view end) {
  for (const std::string& key : keys) {
    if (!key.ends_with(end)) continue;
    const std::string_view prefix = std::string_view(key).substr(0, key.size() - end.size());
    if (prefix.empty() || prefix.ends_with('/')) return std::string(prefix);
  }
  return std::nullopt;
}

// The layers of a functional model, which are saved by number. Finds the names that BertEncoderV2
// gives them.
class LayersByNumber {
 public:
  LayersByNumber(const std::set<std::string>& keys, std::string prefix)
      : prefix_(std::move(prefix) + "layer_with_weights-") {
    for (const std::string& key : keys) {
      const auto parts = split(key);
      if (parts && parts->rest.find("_attention_layer") == 0) blocks_.insert(parts->number);
    }
  }

  // The key with names of attributes. nullopt if the key belongs to another part of the model.
  std::optional<std::string> attributes(std::string_view key) const {
    const auto parts = split(key);
    if (!parts) return std::nullopt;
    return cat(attribute(parts->number), "/", parts->rest);
  }

 private:
  struct Parts {
    uint64_t number;
    std::string_view rest;
  };

  std::optional<Parts> split(std::string_view key) const {
    if (!key.starts_with(prefix_)) return std::nullopt;
    key.remove_prefix(prefix_.size());
    const size_t slash = key.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    const auto number = parse_number(key.substr(0, slash));
    if (!number) return std::nullopt;
    return Parts{*number, key.substr(slash + 1)};
  }

  std::string attribute(uint64_t number) const {
    constexpr const char* kEmbeddings[] = {"_embedding_layer", "_position_embedding_layer",
                                           "_type_embedding_layer", "_embedding_norm_layer"};
    if (number < std::size(kEmbeddings)) return kEmbeddings[number];
    const auto block = blocks_.find(number);
    if (block != blocks_.end()) {
      return cat("_transformer_layers/", std::distance(blocks_.begin(), block));
    }
    const bool comes_first = !blocks_.empty() && number < *blocks_.begin();
    return comes_first ? "_embedding_projection" : "_pooler_layer";
  }

  std::string prefix_;
  std::set<uint64_t> blocks_;
};

// Finds the pooler, which is the hidden layer of a head: [CLS] to tanh. It stands beside its
// out_proj, or is saved under the name that checkpoint_items gives it.
std::optional<MappedName> find_pooler(const std::set<std::string>& keys, std::string_view key) {
  for (const auto& [end, name, layout] :
       {std::tuple("/kernel", "bert.pooler.dense.weight", Layout::kInputsFirst),
        std::tuple("/bias", "bert.pooler.dense.bias", Layout::kVector)}) {
    if (key.ends_with(cat("..pooler_dense", end))) return MappedName{name, layout};
    const std::string dense = cat("/dense", end);
    if (!key.ends_with(dense)) continue;
    const std::string_view head = key.substr(0, key.size() - dense.size());
    if (keys.count(cat(head, "/out_proj/kernel")) != 0) return MappedName{name, layout};
  }
  return std::nullopt;
}

// Finds the Hugging Face names of keys. Tries the most reliable way first.
class KeyNames {
 public:
  KeyNames(const std::set<std::string>& keys,
           const std::map<std::string, std::string, std::less<>>& full_names_by_key)
      : keys_(keys),
        full_names_(full_names_by_key),
        attribute_prefix_(prefix_before(keys, "_position_embedding_layer/embeddings")) {
    const auto numbered = prefix_before(keys, "layer_with_weights-1/embeddings");
    if (numbered) layers_.emplace(keys, *numbered);
  }

  std::optional<MappedName> find(const std::string& key) const {
    if (auto found = in_encoder(key)) return found;
    const auto full_name = full_names_.find(key);
    if (full_name != full_names_.end()) {
      if (auto found = find_end(full_name_rows_, full_name->second)) return found;
    }
    if (auto found = find_pooler(keys_, key)) return found;
    return find_end(head_rows_, key);
  }

 private:
  std::optional<MappedName> in_encoder(std::string_view key) const {
    if (layers_) {
      const auto attributes = layers_->attributes(key);
      return attributes ? find_whole(attribute_rows_, *attributes) : std::nullopt;
    }
    if (!attribute_prefix_ || !key.starts_with(*attribute_prefix_)) return std::nullopt;
    return find_whole(attribute_rows_, key.substr(attribute_prefix_->size()));
  }

  const std::set<std::string>& keys_;
  const std::map<std::string, std::string, std::less<>>& full_names_;
  const std::vector<Row> attribute_rows_ = attribute_rows(), full_name_rows_ = full_name_rows(),
                         head_rows_ = head_rows();
  std::optional<std::string> attribute_prefix_;
  std::optional<LayersByNumber> layers_;
};

}  // namespace

std::map<std::string, MappedName> model_garden_names(
    const std::set<std::string>& keys,
    const std::map<std::string, std::string, std::less<>>& full_names_by_key) {
  const KeyNames names(keys, full_names_by_key);
  std::map<std::string, MappedName> found;
  for (const std::string& key : keys) {
    if (auto name = names.find(key)) found.emplace(key, std::move(*name));
  }
  return found;
}

}  // namespace berth
