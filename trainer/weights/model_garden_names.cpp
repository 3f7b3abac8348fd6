#include "trainer/weights/model_garden_names.h"

#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "storage/base/text.h"
#include "trainer/weights/model_garden_tables.h"

namespace berth {
namespace {

std::optional<MappedName> find_whole(std::span<const ModelGardenRow> rows, std::string_view key) {
  for (const ModelGardenRow& row : rows) {
    if (const auto number = match_numbered(row.key, key)) {
      return MappedName{with_number(row.hugging_face, *number), row.layout};
    }
  }
  return std::nullopt;
}

// Finds the row for the longest part of the key that begins after a "/" and ends with the key.
std::optional<MappedName> find_end(std::span<const ModelGardenRow> rows, std::string_view key) {
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
       {std::tuple("/kernel", "bert.pooler.dense.weight", TensorflowLayout::kInputsFirst),
        std::tuple("/bias", "bert.pooler.dense.bias", TensorflowLayout::kVector)}) {
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
      if (auto found = find_end(model_garden_full_names(), full_name->second)) return found;
    }
    if (auto found = find_pooler(keys_, key)) return found;
    return find_end(model_garden_heads(), key);
  }

 private:
  std::optional<MappedName> in_encoder(std::string_view key) const {
    if (layers_) {
      const auto attributes = layers_->attributes(key);
      return attributes ? find_whole(model_garden_attributes(), *attributes) : std::nullopt;
    }
    if (!attribute_prefix_ || !key.starts_with(*attribute_prefix_)) return std::nullopt;
    return find_whole(model_garden_attributes(), key.substr(attribute_prefix_->size()));
  }

  const std::set<std::string>& keys_;
  const std::map<std::string, std::string, std::less<>>& full_names_;
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
