#include "trainer/model/config.h"

#include <map>
#include <nlohmann/json.hpp>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

using Json = nlohmann::ordered_json;

const std::map<std::string, Activation, std::less<>> kActivations = {
    {"gelu", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"tanh", Activation::kTanh},
};

[[noreturn]] void refuse(const std::string& key, const std::string& what) {
  throw Error(Code::kUsage, quoted(key) + " " + what);
}

// Reads keys of one object, each with its range.
class Reader {
 public:
  explicit Reader(const Json& object) : object_(object) {}

  int64_t integer(const char* key, int64_t low, int64_t high,
                  std::optional<int64_t> fallback = std::nullopt) const {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) {
      if (!fallback) refuse(key, "is missing");
      return *fallback;
    }
    if (!found->is_number_integer() || *found < low || *found > high) {
      refuse(key, cat("must be an integer from ", low, " to ", high, ", not ", found->dump()));
    }
    return found->get<int64_t>();
  }

  std::optional<double> number(const char* key, double low, double high) const {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return std::nullopt;
    if (!found->is_number() || !(*found >= low) || !(*found <= high)) {
      refuse(key, cat("must be a number from ", low, " to ", high, ", not ", found->dump()));
    }
    return found->get<double>();
  }

  std::string text(const char* key, const std::string& fallback) const {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return fallback;
    if (!found->is_string()) refuse(key, "must be a string, not " + found->dump());
    return found->get<std::string>();
  }

  bool flag(const char* key, bool fallback) const {
    const auto found = object_.find(key);
    if (found == object_.end() || found->is_null()) return fallback;
    if (!found->is_boolean()) refuse(key, "must be true or false, not " + found->dump());
    return found->get<bool>();
  }

 private:
  const Json& object_;
};

std::vector<std::string> parse_labels(const Json& object) {
  const auto found = object.find("id2label");
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_object()) refuse("id2label", "must be an object");
  std::vector<std::string> labels(found->size());
  std::vector<bool> seen(found->size());
  for (const auto& [id, name] : found->items()) {
    size_t index = labels.size();
    if (!id.empty() && id.size() < 10 && id.find_first_not_of("0123456789") == std::string::npos) {
      index = std::stoul(id);
    }
    if (index >= labels.size() || seen[index] || !name.is_string()) {
      refuse("id2label", "must map 0, 1, ... to names");
    }
    labels[index] = name.get<std::string>();
    seen[index] = true;
  }
  return labels;
}

// What this version computes; anything else would be a silently different model.
void check_supported(const Reader& read) {
  const std::string type = read.text("model_type", "bert");
  if (type != "bert") refuse("model_type", "is " + quoted(type) + "; this version trains bert");
  const std::string position = read.text("position_embedding_type", "absolute");
  if (position != "absolute") {
    refuse("position_embedding_type", "is " + quoted(position) + "; only absolute is supported");
  }
  if (read.flag("is_decoder", false)) refuse("is_decoder", "is true; berth trains encoders");
}

}  // namespace

ModelConfig parse_config(std::string_view json_text) {
  const Json object = Json::parse(json_text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) throw Error(Code::kCorrupt, "is not a JSON object");

  const Reader read(object);
  check_supported(read);
  constexpr int64_t kMany = 1 << 24;
  ModelConfig config{
      .vocab_size = read.integer("vocab_size", 1, kMany),
      .hidden_size = read.integer("hidden_size", 1, 1 << 16),
      .num_hidden_layers = read.integer("num_hidden_layers", 1, 1024),
      .num_attention_heads = read.integer("num_attention_heads", 1, 1 << 12),
      .intermediate_size = read.integer("intermediate_size", 1, 1 << 20),
      .max_position_embeddings = read.integer("max_position_embeddings", 1, kMany),
      .type_vocab_size = read.integer("type_vocab_size", 1, 1 << 16, 2),
      .pad_token_id = read.integer("pad_token_id", 0, kMany, 0),
      .labels = parse_labels(object),
      .source_json = std::string(json_text),
  };
  const std::string act = read.text("hidden_act", "gelu");
  const auto activation = kActivations.find(act);
  if (activation == kActivations.end()) {
    refuse("hidden_act", "is " + quoted(act) + "; known are gelu, gelu_new, relu and tanh");
  }
  config.hidden_act = activation->second;
  config.hidden_dropout_prob = read.number("hidden_dropout_prob", 0, 0.99).value_or(0.1);
  config.attention_probs_dropout_prob =
      read.number("attention_probs_dropout_prob", 0, 0.99).value_or(0.1);
  config.classifier_dropout = read.number("classifier_dropout", 0, 0.99);
  config.initializer_range = read.number("initializer_range", 0, 10).value_or(0.02);
  config.layer_norm_eps = read.number("layer_norm_eps", 1e-30, 1).value_or(1e-12);
  if (config.hidden_size % config.num_attention_heads != 0) {
    refuse("hidden_size", cat("(", config.hidden_size, ") must be a multiple of ",
                              "num_attention_heads (", config.num_attention_heads, ")"));
  }
  return config;
}

std::string to_config_json(const ModelConfig& config) {
  Json object = Json::parse(config.source_json, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) object = Json::object();
  for (const char* stale :
       {"num_labels", "finetuning_task", "transformers_version", "_name_or_path", "torch_dtype"}) {
    object.erase(stale);
  }
  object["architectures"] = {"BertForSequenceClassification"};
  object["model_type"] = "bert";
  object["problem_type"] = "single_label_classification";
  object["vocab_size"] = config.vocab_size;
  object["hidden_size"] = config.hidden_size;
  object["num_hidden_layers"] = config.num_hidden_layers;
  object["num_attention_heads"] = config.num_attention_heads;
  object["intermediate_size"] = config.intermediate_size;
  object["max_position_embeddings"] = config.max_position_embeddings;
  object["type_vocab_size"] = config.type_vocab_size;
  object["pad_token_id"] = config.pad_token_id;
  for (const auto& [name, activation] : kActivations) {
    if (activation == config.hidden_act && !object.contains("hidden_act"))
      object["hidden_act"] = name;
  }
  object["hidden_dropout_prob"] = config.hidden_dropout_prob;
  object["attention_probs_dropout_prob"] = config.attention_probs_dropout_prob;
  if (config.classifier_dropout) object["classifier_dropout"] = *config.classifier_dropout;
  object["initializer_range"] = config.initializer_range;
  object["layer_norm_eps"] = config.layer_norm_eps;
  object["dtype"] = "float32";
  Json id2label = Json::object(), label2id = Json::object();
  for (size_t id = 0; id < config.labels.size(); ++id) {
    id2label[std::to_string(id)] = config.labels[id];
    label2id[config.labels[id]] = id;
  }
  object["id2label"] = id2label;
  object["label2id"] = label2id;
  return object.dump(2) + "\n";
}

}  // namespace berth
