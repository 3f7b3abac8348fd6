#include "trainer/model/model_garden_names.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/base/text.h"

namespace berth {
namespace {

using Layout = TensorflowLayout;

struct Row {
  std::string key, hugging_face;
  Layout layout;
};

void add_dense(std::vector<Row>& rows, const std::string& key, const std::string& name,
               Layout layout = Layout::kInputsFirst) {
  rows.push_back({key + "/kernel", name + ".weight", layout});
  rows.push_back({key + "/bias", name + ".bias", Layout::kVector});
}

void add_norm(std::vector<Row>& rows, const std::string& key, const std::string& name) {
  rows.push_back({key + "/gamma", name + ".weight", Layout::kSame});
  rows.push_back({key + "/beta", name + ".bias", Layout::kSame});
}

const std::string kLayer = "bert.encoder.layer.{}.";

// By the attributes of BertEncoderV2 and of its TransformerEncoderBlock.
std::vector<Row> attribute_rows() {
  std::vector<Row> rows = {
      {"_embedding_layer/embeddings", "bert.embeddings.word_embeddings.weight", Layout::kSame},
      {"_position_embedding_layer/embeddings", "bert.embeddings.position_embeddings.weight",
       Layout::kSame},
      {"_type_embedding_layer/embeddings", "bert.embeddings.token_type_embeddings.weight",
       Layout::kSame}};
  add_norm(rows, "_embedding_norm_layer", "bert.embeddings.LayerNorm");
  add_dense(rows, "_embedding_projection", "bert.embeddings_project");
  const std::string block = "_transformer_layers/{}/";
  for (const std::string part : {"query", "key", "value"}) {
    add_dense(rows, block + "_attention_layer/_" + part + "_dense",
              kLayer + "attention.self." + part);
  }
  for (const std::string key : {"_attention_layer/_output_dense", "_attention_output_dense"}) {
    add_dense(rows, block + key, kLayer + "attention.output.dense", Layout::kOutputsLast);
  }
  add_norm(rows, block + "_attention_layer_norm", kLayer + "attention.output.LayerNorm");
  add_dense(rows, block + "_intermediate_dense", kLayer + "intermediate.dense");
  add_dense(rows, block + "_output_dense", kLayer + "output.dense");
  add_norm(rows, block + "_output_layer_norm", kLayer + "output.LayerNorm");
  add_dense(rows, "_pooler_layer", "bert.pooler.dense");
  return rows;
}

// By the names of the layers' variables, whatever attributes hold them.
std::vector<Row> full_name_rows() {
  std::vector<Row> rows = {
      {"word_embeddings/embeddings", "bert.embeddings.word_embeddings.weight", Layout::kSame},
      {"position_embedding/embeddings", "bert.embeddings.position_embeddings.weight",
       Layout::kSame},
      {"type_embeddings/embeddings", "bert.embeddings.token_type_embeddings.weight",
       Layout::kSame}};
  add_norm(rows, "embeddings/layer_norm", "bert.embeddings.LayerNorm");
  const std::string block = "transformer/layer_{}/";
  for (const std::string part : {"query", "key", "value"}) {
    add_dense(rows, block + "self_attention/" + part, kLayer + "attention.self." + part);
  }
  add_dense(rows, block + "self_attention/attention_output", kLayer + "attention.output.dense",
            Layout::kOutputsLast);
  add_norm(rows, block + "self_attention_layer_norm", kLayer + "attention.output.LayerNorm");
  add_dense(rows, block + "intermediate", kLayer + "intermediate.dense");
  add_dense(rows, block + "output", kLayer + "output.dense");
  add_norm(rows, block + "output_layer_norm", kLayer + "output.LayerNorm");
  add_dense(rows, "pooler_transform", "bert.pooler.dense");
  return rows;
}

// Heads: the end of the key, from a "/" on.
std::vector<Row> head_rows() {
  std::vector<Row> rows = {
      {"masked_lm/output_bias.Sbias", "cls.predictions.bias", Layout::kSame},
      {"masked_lm/bias", "cls.predictions.bias", Layout::kSame},
  };
  add_dense(rows, "masked_lm/dense", "cls.predictions.transform.dense");
  add_norm(rows, "masked_lm/layer_norm", "cls.predictions.transform.LayerNorm");
  add_dense(rows, "next_sentence..pooler_dense", "bert.pooler.dense");
  add_dense(rows, "sentence_classification..pooler_dense", "bert.pooler.dense");
  add_dense(rows, "next_sentence/dense", "bert.pooler.dense");
  add_dense(rows, "next_sentence/out_proj", "cls.seq_relationship");
  add_dense(rows, "classifier/dense", "bert.pooler.dense");
  add_dense(rows, "out_proj", "classifier");
  return rows;
}

std::optional<MappedName> find_whole(const std::vector<Row>& rows, std::string_view key) {
  for (const Row& row : rows) {
    if (const auto number = match_numbered(row.key, key)) {
      return MappedName{with_number(row.hugging_face, *number), row.layout};
    }
  }
  return std::nullopt;
}

// Of the key's ends, each from a "/" on, the longest that a row knows.
std::optional<MappedName> find_end(const std::vector<Row>& rows, std::string_view key) {
  while (true) {
    if (auto found = find_whole(rows, key)) return found;
    const size_t slash = key.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    key.remove_prefix(slash + 1);
  }
}

// What stands before the first key that ends so; with its "/".
std::optional<std::string> prefix_before(const std::set<std::string>& keys, std::string_view end) {
  for (const std::string& key : keys) {
    if (!key.ends_with(end)) continue;
    const std::string_view prefix = std::string_view(key).substr(0, key.size() - end.size());
    if (prefix.empty() || prefix.ends_with('/')) return std::string(prefix);
  }
  return std::nullopt;
}

// Numbers the layers of a functional model: what BertEncoderV2 would call each.
class LayersByNumber {
 public:
  LayersByNumber(const std::set<std::string>& keys, std::string prefix)
      : prefix_(std::move(prefix) + "layer_with_weights-") {
    for (const std::string& key : keys) {
      const auto parts = split(key);
      if (parts && parts->rest.find("_attention_layer") == 0) blocks_.insert(parts->number);
    }
  }

  // The key by attributes; nullopt: of another part of the model.
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

}  // namespace

std::map<std::string, MappedName> model_garden_names(
    const std::set<std::string>& keys,
    const std::map<std::string, std::string, std::less<>>& full_names_by_key) {
  static const std::vector<Row> by_attribute = attribute_rows(), by_full_name = full_name_rows(),
                                heads = head_rows();
  const auto numbered = prefix_before(keys, "layer_with_weights-0/embeddings");
  const auto named = prefix_before(keys, "_embedding_layer/embeddings");
  std::optional<LayersByNumber> layers;
  if (numbered) layers.emplace(keys, *numbered);

  const auto find = [&](const std::string& key) -> std::optional<MappedName> {
    if (layers) {
      const auto attributes = layers->attributes(key);
      if (attributes) {
        if (auto found = find_whole(by_attribute, *attributes)) return found;
      }
    }
    if (named && key.starts_with(*named)) {
      const auto found = find_whole(by_attribute, std::string_view(key).substr(named->size()));
      if (found) return found;
    }
    if (auto found = find_end(heads, key)) return found;
    const auto full_name = full_names_by_key.find(key);
    if (full_name == full_names_by_key.end()) return std::nullopt;
    return find_end(by_full_name, full_name->second);
  };

  std::map<std::string, MappedName> names;
  for (const std::string& key : keys) {
    if (auto found = find(key)) names.emplace(key, std::move(*found));
  }
  return names;
}

}  // namespace berth
