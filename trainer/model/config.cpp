#include "trainer/model/config.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/json_emptied.h"
#include "storage/base/text.h"
#include "trainer/model/config_keys.h"
#include "trainer/model/config_reader.h"
#include "trainer/model/deberta_config.h"
#include "trainer/model/modernbert_config.h"
#include "trainer/model/mpnet_config.h"
#include "trainer/model/nomic_config.h"
#include "trainer/model/saved_task.h"

namespace berth {
namespace {

struct TypeNames {
  ModelType type;
  std::string_view model_type, class_prefix;
};
constexpr std::array kTypes = {
    TypeNames{ModelType::kBert, "bert", "Bert"},
    TypeNames{ModelType::kRoberta, "roberta", "Roberta"},
    TypeNames{ModelType::kXlmRoberta, "xlm-roberta", "XLMRoberta"},
    TypeNames{ModelType::kCamembert, "camembert", "Camembert"},
    TypeNames{ModelType::kDistilBert, "distilbert", "DistilBert"},
    TypeNames{ModelType::kElectra, "electra", "Electra"},
    TypeNames{ModelType::kAlbert, "albert", "Albert"},
    TypeNames{ModelType::kDebertaV2, "deberta-v2", "DebertaV2"},
    TypeNames{ModelType::kModernBert, "modernbert", "ModernBert"},
    TypeNames{ModelType::kMpnet, "mpnet", "MPNet"},
    TypeNames{ModelType::kNomicBert, "nomic_bert", "NomicBert"},
};

const TypeNames& names_of(ModelType type) {
  return *std::find_if(kTypes.begin(), kTypes.end(),
                       [type](const TypeNames& names) { return names.type == type; });
}

// The keys whose names depend on the architecture.
struct Keys {
  const char *hidden_size, *num_hidden_layers, *num_attention_heads, *intermediate_size,
      *hidden_act, *hidden_dropout_prob, *attention_probs_dropout_prob, *classifier_dropout;
};
constexpr Keys kKeys = {
    "hidden_size", "num_hidden_layers",   "num_attention_heads",          "intermediate_size",
    "hidden_act",  "hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"};
constexpr Keys kAlbertKeys = {"hidden_size",
                              "num_hidden_layers",
                              "num_attention_heads",
                              "intermediate_size",
                              "hidden_act",
                              "hidden_dropout_prob",
                              "attention_probs_dropout_prob",
                              "classifier_dropout_prob"};
constexpr Keys kDistilBertKeys = {
    "dim",        "n_layers", "n_heads",           "hidden_dim",
    "activation", "dropout",  "attention_dropout", "seq_classif_dropout"};

constexpr Keys kDebertaKeys = {
    "hidden_size", "num_hidden_layers",   "num_attention_heads",          "intermediate_size",
    "hidden_act",  "hidden_dropout_prob", "attention_probs_dropout_prob", "cls_dropout"};

constexpr Keys kModernBertKeys = {"hidden_size",       "num_hidden_layers", "num_attention_heads",
                                  "intermediate_size", "hidden_activation", "embedding_dropout",
                                  "attention_dropout", "classifier_dropout"};

const Keys& keys_of(ModelType type) {
  if (type == ModelType::kModernBert) return kModernBertKeys;
  if (type == ModelType::kDebertaV2) return kDebertaKeys;
  if (type == ModelType::kDistilBert) return kDistilBertKeys;
  return type == ModelType::kAlbert ? kAlbertKeys : kKeys;
}

std::vector<std::string> parse_labels(const Json& object) {
  const auto found = object.find("id2label");
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_object()) refuse_key("id2label", "must be an object");
  std::vector<std::string> labels(found->size());
  std::vector<bool> seen(found->size());
  for (const auto& [id, name] : found->items()) {
    size_t index = labels.size();
    if (!id.empty() && id.size() < 10 && id.find_first_not_of("0123456789") == std::string::npos) {
      index = std::stoul(id);
    }
    const bool is_name = name.is_string() || name.is_number_integer();
    if (index >= labels.size() || seen[index] || !is_name) {
      refuse_key("id2label", "must map 0, 1, ... to names");
    }
    labels[index] = name.is_string() ? name.get<std::string>() : to_text(name);
    seen[index] = true;
  }
  return labels;
}

// Refuses settings that berth does not support, because the model would silently be a different
// one.
void check_supported(const ConfigReader& read) {
  const std::string position = read.text("position_embedding_type", "absolute");
  if (position != "absolute") {
    refuse_key("position_embedding_type",
               "is " + quoted(position) + "; only absolute is supported");
  }
  if (read.flag("is_decoder", false)) refuse_key("is_decoder", "is true; berth trains encoders");
  if (read.integer("inner_group_num", 1, 1 << 10, 1) != 1) {
    refuse_key("inner_group_num", "is more than 1, which no published ALBERT has");
  }
}

// The name of the class that saved the file, such as "BertForMaskedLM", or "" if the file has none.
std::string class_of(const Json& object) {
  const auto classes = object.find("architectures");
  if (classes == object.end() || !classes->is_array() || classes->empty()) return "";
  return classes->front().is_string() ? classes->front().get<std::string>() : "";
}

// The model_type for a file without one. Files of 2019 have none, so it is inferred from the name
// of the class, such as "RobertaForMaskedLM".
std::string type_of_class(const Json& object) {
  const std::string name = class_of(object);
  for (const TypeNames& names : kTypes) {
    if (name.starts_with(cat(names.class_prefix, "For")) ||
        name == cat(names.class_prefix, "Model")) {
      return std::string(names.model_type);
    }
  }
  return "bert";
}

ModelType parse_type(const ConfigReader& read, const Json& object) {
  const std::string name = read.text("model_type", type_of_class(object));
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const TypeNames& names) { return names.model_type == name; });
  if (found == kTypes.end()) {
    refuse_key("model_type", "is " + quoted(name) +
                                 "; known are bert, roberta, xlm-roberta, camembert, distilbert, "
                                 "electra, albert, deberta-v2, modernbert, mpnet, nomic_bert");
  }
  return found->type;
}

}  // namespace

std::string_view model_type_name(ModelType type) { return names_of(type).model_type; }

std::string_view torch_dtype_name(DType dtype) {
  if (dtype == DType::kF16) return "float16";
  return dtype == DType::kBF16 ? "bfloat16" : "float32";
}

ModelConfig parse_config(std::string_view json_text) {
  const Json object = parse_json(json_text);
  if (!object.is_object()) throw Error(Code::kCorrupt, "is not a JSON object");

  const ConfigReader read(object);
  check_keys(object, config_keys());
  check_supported(read);
  const ModelType type = parse_type(read, object);
  const bool nomic = type == ModelType::kNomicBert;
  if (nomic) {
    if (const auto text = nomic_config_for_transformers(object)) return parse_config(*text);
  }
  const bool mpnet = type == ModelType::kMpnet;
  const bool is_roberta = is_of_roberta(type);
  const bool albert = type == ModelType::kAlbert;
  const Keys& keys = keys_of(type);
  const bool deberta = type == ModelType::kDebertaV2;
  const bool modern = type == ModelType::kModernBert;
  const bool has_types = type != ModelType::kDistilBert && !modern && !mpnet;
  constexpr int64_t kMany = 1 << 24;
  ModelConfig config{
      .type = type,
      .vocab_size = read.integer("vocab_size", 1, kMany),
      .hidden_size = read.integer(keys.hidden_size, 1, 1 << 16),
      .num_hidden_layers = read.integer(keys.num_hidden_layers, 1, 1024),
      .num_attention_heads = read.integer(keys.num_attention_heads, 1, 1 << 12),
      .intermediate_size = read.integer(keys.intermediate_size, 1, 1 << 20),
      .max_position_embeddings = read.integer("max_position_embeddings", 1, kMany),
      .type_vocab_size =
          has_types ? read.integer("type_vocab_size", deberta ? 0 : 1, 1 << 16, deberta ? 0 : 2)
                    : 0,
      .pad_token_id = read.integer("pad_token_id", 0, kMany,
                                   modern                ? 50283
                                   : is_roberta || mpnet ? 1
                                                         : 0),
      .labels = parse_labels(object),
      .source_json = std::string(json_text),
  };
  const bool factorised = albert || type == ModelType::kElectra;
  if (factorised) config.embedding_size = read.integer("embedding_size", 1, 1 << 16, 128);
  if (albert) config.num_hidden_groups = read.integer("num_hidden_groups", 1, 1024, 1);
  config.hidden_act = read.activation(keys.hidden_act, albert  ? "gelu_new"
                                                       : nomic ? "silu"
                                                               : "gelu");
  const double dropout = albert || modern || nomic ? 0 : 0.1;
  config.hidden_dropout_prob = read.number(keys.hidden_dropout_prob, 0, 0.99).value_or(dropout);
  config.attention_probs_dropout_prob =
      read.number(keys.attention_probs_dropout_prob, 0, 0.99).value_or(dropout);
  const std::string saved_class = class_of(object);
  const bool names_no_labels = config.labels.empty() && is_classifier(saved_class);
  const int64_t outputs = names_no_labels ? read.integer("num_labels", 1, 1 << 20, 2)
                                          : static_cast<int64_t>(config.labels.size());
  config.saved_task =
      saved_task(saved_class, read.text("problem_type", ""), static_cast<size_t>(outputs));
  if (names_no_labels && config.saved_task && traits(*config.saved_task).has_classes) {
    config.labels = placeholder_labels(outputs);
  }
  const bool is_score =
      config.saved_task && traits(*config.saved_task).labels == LabelKind::kNumber;
  if (is_score) name_score(config.labels);
  const bool distilbert = type == ModelType::kDistilBert;
  if (distilbert) config.qa_dropout = read.number("qa_dropout", 0, 0.99).value_or(0.1);
  config.classifier_dropout = read.number(keys.classifier_dropout, 0, 0.99);
  if (!config.classifier_dropout && albert) config.classifier_dropout = 0.1;
  if (!config.classifier_dropout && distilbert) config.classifier_dropout = 0.2;
  if (!config.classifier_dropout && modern) config.classifier_dropout = 0;
  config.ties_word_embeddings = read.flag("tie_word_embeddings", true);
  config.initializer_range = read.number("initializer_range", 0, 10).value_or(0.02);
  if (modern) {
    config.layer_norm_eps = read.number("norm_eps", 1e-30, 1).value_or(1e-5);
  } else if (has_types || mpnet) {
    config.layer_norm_eps =
        read.number("layer_norm_eps", 1e-30, 1).value_or(deberta ? 1e-7 : 1e-12);
  }
  if (config.hidden_size % config.num_attention_heads != 0) {
    refuse_key(keys.hidden_size,
               cat("(", config.hidden_size, ") must be a multiple of ", keys.num_attention_heads,
                   " (", config.num_attention_heads, ")"));
  }
  if (deberta) parse_deberta(read, config);
  if (modern) parse_modernbert(read, object, config);
  if (mpnet) parse_mpnet(read, config);
  if (nomic) parse_nomic(read, object, config);
  if (config.max_sequence_length() < 1) {
    refuse_key("max_position_embeddings", "leaves no position behind pad_token_id");
  }
  return config;
}

std::string to_config_json(const ModelConfig& config, DType dtype) {
  OrderedJson object = parse_ordered_json(config.source_json, {"id2label", "label2id"});
  if (!object.is_object()) object = OrderedJson::object();
  for (const char* stale :
       {"num_labels", "finetuning_task", "transformers_version", "_name_or_path", "torch_dtype"}) {
    object.erase(stale);
  }
  const Keys& keys = keys_of(config.type);
  const TypeNames& names = names_of(config.type);
  object["architectures"] = {cat(names.class_prefix, traits(config.task).class_suffix)};
  object["model_type"] = names.model_type;
  object["problem_type"] = traits(config.task).problem_type;
  if (traits(config.task).problem_type.empty()) object.erase("problem_type");
  object["vocab_size"] = config.vocab_size;
  object[keys.hidden_size] = config.hidden_size;
  object[keys.num_hidden_layers] = config.num_hidden_layers;
  object[keys.num_attention_heads] = config.num_attention_heads;
  object[keys.intermediate_size] = config.intermediate_size;
  object["max_position_embeddings"] = config.max_position_embeddings;
  object["pad_token_id"] = config.pad_token_id;
  if (config.type == ModelType::kModernBert) {
    object["norm_eps"] = config.layer_norm_eps;
    object["mlp_dropout"] = config.mlp_dropout;
  } else if (config.type != ModelType::kDistilBert) {
    if (config.type != ModelType::kMpnet) object["type_vocab_size"] = config.type_vocab_size;
    object["layer_norm_eps"] = config.layer_norm_eps;
  }
  if (config.embedding_size > 0) object["embedding_size"] = config.embedding_size;
  if (config.num_hidden_groups > 0) object["num_hidden_groups"] = config.num_hidden_groups;
  if (!object.contains(keys.hidden_act)) {
    object[keys.hidden_act] = activation_name(config.hidden_act);
  }
  object[keys.hidden_dropout_prob] = config.hidden_dropout_prob;
  object[keys.attention_probs_dropout_prob] = config.attention_probs_dropout_prob;
  if (config.classifier_dropout) object[keys.classifier_dropout] = *config.classifier_dropout;
  if (config.type == ModelType::kDistilBert) object["qa_dropout"] = config.qa_dropout;
  // A file may have a decoder of its own although its configuration ties it (resolve_decoder()).
  if (!config.ties_word_embeddings) object["tie_word_embeddings"] = false;
  object["initializer_range"] = config.initializer_range;
  object["dtype"] = torch_dtype_name(dtype);
  OrderedJson id2label = OrderedJson::object(), label2id = OrderedJson::object();
  const std::vector<std::string> labels = saved_labels(config.task, config.labels);
  // operator[] would compare each key with all before it.
  auto& ids_to_names = id2label.get_ref<OrderedJson::object_t&>();
  auto& names_to_ids = label2id.get_ref<OrderedJson::object_t&>();
  std::unordered_map<std::string_view, size_t>
      places;  // of the names; the last id of a name counts
  for (size_t id = 0; id < labels.size(); ++id) {
    ids_to_names.emplace_back(std::to_string(id), labels[id]);
    const auto [place, is_new] = places.try_emplace(labels[id], names_to_ids.size());
    if (is_new) {
      names_to_ids.emplace_back(labels[id], id);
    } else {
      names_to_ids.begin()[static_cast<std::ptrdiff_t>(place->second)].second = id;
    }
  }
  object["id2label"] = id2label;
  object["label2id"] = label2id;
  if (labels.empty()) {
    object.erase("id2label");
    object.erase("label2id");
  }
  return to_text(object, 2) + "\n";
}

}  // namespace berth
