#include "trainer/model/config.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "trainer/model/architecture.h"
#include "trainer/model/config_keys.h"
#include "trainer/model/task.h"

namespace berth {
namespace {

// The names that transformers gives to outputs without names.
std::vector<std::string> placeholders(int64_t outputs) {
  std::vector<std::string> names;
  for (int64_t output = 0; output < outputs; ++output) names.push_back(cat("LABEL_", output));
  return names;
}

// The task that a file was saved for. `class_name` is the first of its architectures, and "" if it
// names none. `problem_type` is "" if it has none. `num_labels` counts its id2label. As in
// transformers, a sequence classifier with one output and no problem_type is a regression. nullopt
// if the file does not say.
std::optional<Task> saved_task(std::string_view class_name, std::string_view problem_type,
                               size_t num_labels) {
  for (const TaskTraits& row : task_table()) {
    if (row.class_suffix == "Model") continue;  // that is an encoder, whose task is still open
    const bool by_class = !class_name.empty() && class_name.starts_with(row.class_prefix) &&
                          class_name.ends_with(row.class_suffix);
    const bool fits = row.problem_type.empty()
                          ? by_class
                          : problem_type == row.problem_type && (by_class || class_name.empty());
    if (fits) return row.task;
  }
  const bool is_of_sequences = class_name.ends_with(traits(kDefaultTask).class_suffix);
  if (!problem_type.empty() || !is_of_sequences) return std::nullopt;
  return num_labels == 1 ? usual_task(LabelKind::kNumber) : usual_task(LabelKind::kClass);
}

// Whether the class classifies texts or tokens. If its file has no id2label, transformers counts
// the labels by num_labels, 2 by default, and names them LABEL_0 and so on.
bool is_classifier(std::string_view class_name) {
  return class_name.ends_with("ForSequenceClassification") ||
         class_name.ends_with("ForTokenClassification");
}

// Calls a regression's only output "score", unless the file gave it a name of its own. LABEL_0 is
// the name that transformers gives to an output without one.
void name_score(std::vector<std::string>& labels) {
  const bool has_own_name = !labels.empty() && labels != placeholders(1);
  if (!has_own_name) labels = output_labels(usual_task(LabelKind::kNumber));
}

// The names that the exported id2label holds. transformers counts a head's outputs by its entries,
// so outputs without names are called LABEL_0, LABEL_1.
std::vector<std::string> saved_labels(Task task, const std::vector<std::string>& labels) {
  const TaskTraits& row = traits(task);
  if (row.has_classes || row.outputs == 0) return labels;
  // transformers counts two labels for multiple choice, as by default, and uses none.
  if (row.labels == LabelKind::kChoice) return labels.empty() ? placeholders(2) : labels;
  // transformers' classes for pre-training have no labels.
  if (row.labels == LabelKind::kMaskedId) return {};
  const bool has_own_names = !labels.empty() && labels != output_labels(task);
  return has_own_names && !row.output_name.empty() ? labels : placeholders(row.outputs);
}

std::vector<std::string> parse_labels(const Json& object) {
  const auto found = object.find("id2label");
  if (found == object.end() || found->is_null()) return {};
  if (!found->is_object()) refuse_key("id2label", "must be an object");
  std::vector<std::string> labels(found->size());
  std::vector<bool> seen(found->size());
  for (const auto& [id, name] : found->items()) {
    size_t index = labels.size();
    if (id.size() < 10 && is_digits(id)) index = std::stoul(id);
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
  for (const Architecture& row : architectures()) {
    if (name.starts_with(cat(row.class_prefix, "For")) || name == cat(row.class_prefix, "Model")) {
      return std::string(row.model_type);
    }
  }
  return "bert";
}

const Architecture& parse_type(const ConfigReader& read, const Json& object) {
  const std::string name = read.text("model_type", type_of_class(object));
  const auto found = std::ranges::find(architectures(), name, &Architecture::model_type);
  if (found == architectures().end()) {
    refuse_key("model_type", cat("is ", quoted(name), "; known are ", known_model_types()));
  }
  return *found;
}

}  // namespace

bool ModelConfig::transforms_tokens() const {
  return architecture(type).transforms_tokens && traits(task).labels != LabelKind::kVectorPerToken;
}

double ModelConfig::head_dropout() const {
  if (traits(task).labels == LabelKind::kVectorPerToken) return 0;  // as in TinyBERT's fit_dense
  const bool is_of_pairs = traits(task).rows == HeadRows::kMaskedAndFirst;
  if (is_of_pairs && !architecture(type).drops_next_sentence) return 0;
  if (traits(task).labels == LabelKind::kSpan && !transforms_tokens()) return qa_dropout;
  const ChoiceHead choice = architecture(type).choice_head;
  const bool is_choice = traits(task).labels == LabelKind::kChoice;
  if (is_choice && choice == ChoiceHead::kPooler) return hidden_dropout_prob;
  if (is_choice && choice == ChoiceHead::kSummary) return summary_dropout;
  const bool is_other = architecture(type).has_sequence_dropout && !is_of_sequences();
  return is_other ? hidden_dropout_prob : classifier_dropout.value_or(hidden_dropout_prob);
}

double ModelConfig::pooler_dropout() const {
  const auto field = architecture(type).pooler_dropout;
  return field ? this->*field : head_dropout();
}

bool ModelConfig::counts_from_padding() const { return architecture(type).counts_from_padding; }

double ModelConfig::attention_output_dropout() const {
  const auto field = architecture(type).attention_output_dropout;
  return field ? this->*field : 0;
}

double ModelConfig::feed_forward_dropout() const {
  const auto field = architecture(type).feed_forward_dropout;
  return field ? this->*field : 0;
}

std::string_view model_type_name(ModelType type) { return architecture(type).model_type; }

std::string_view torch_dtype_name(DType dtype) {
  if (dtype == DType::kF16) return "float16";
  return dtype == DType::kBF16 ? "bfloat16" : "float32";
}

namespace {

// The two mappings between outputs and their names. A file without names has neither.
void write_labels(const std::vector<std::string>& labels, OrderedJson& object) {
  OrderedJson id2label = OrderedJson::object(), label2id = OrderedJson::object();
  // operator[] would compare each key with all before it.
  auto& ids_to_names = id2label.get_ref<OrderedJson::object_t&>();
  auto& names_to_ids = label2id.get_ref<OrderedJson::object_t&>();
  // The places of the names. The last id of a name counts.
  std::unordered_map<std::string_view, size_t> places;
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
}

// The sizes, the names of the labels and the text itself. All else has its default.
ModelConfig parse_sizes(const ConfigReader& read, const Architecture& row, const Json& object,
                        std::string_view json_text) {
  const ConfigKeys& keys = row.keys;
  const ConfigDefaults& defaults = row.defaults;
  constexpr int64_t kLargest = 1 << 24;
  ModelConfig config{
      .type = row.type,
      .vocab_size = read.integer("vocab_size", 1, kLargest),
      .hidden_size = read.integer(keys.hidden_size, 1, 1 << 16),
      .num_hidden_layers = read.integer(keys.num_hidden_layers, 1, 1024),
      .num_attention_heads = read.integer(keys.num_attention_heads, 1, 1 << 12),
      .intermediate_size = read.integer(keys.intermediate_size, 1, 1 << 20),
      .max_position_embeddings = read.integer("max_position_embeddings", 1, kLargest),
      .type_vocab_size = keys.type_vocab_size
                             ? read.integer(keys.type_vocab_size, defaults.least_type_vocab_size,
                                            1 << 16, defaults.type_vocab_size)
                             : 0,
      .pad_token_id = read.integer("pad_token_id", 0, kLargest, defaults.pad_token_id),
      .normalizes_first = row.layer.final_norm != nullptr,
      .labels = parse_labels(object),
      .source_json = std::string(json_text),
  };
  if (keys.embedding_size) {
    const int64_t usual =
        defaults.embedding_size > 0 ? defaults.embedding_size : config.hidden_size;
    config.embedding_size = read.integer(keys.embedding_size, 1, 1 << 16, usual);
  }
  if (keys.num_hidden_groups) {
    config.num_hidden_groups = read.integer(keys.num_hidden_groups, 1, 1024, 1);
  }
  const auto padding = object.find("pad_token_id");
  const bool has_none = padding != object.end() && padding->is_null();
  if (has_none && !row.counts_from_padding) config.pad_token_id = -1;
  return config;
}

// The task that the file was saved for, and the names of its outputs where id2label has none.
void parse_saved_task(const ConfigReader& read, const Json& object, ModelConfig& config) {
  const std::string saved_class = class_of(object);
  const bool names_no_labels = config.labels.empty() && is_classifier(saved_class);
  const int64_t outputs = names_no_labels ? read.integer("num_labels", 1, 1 << 20, 2)
                                          : static_cast<int64_t>(config.labels.size());
  config.saved_task =
      saved_task(saved_class, read.text("problem_type", ""), static_cast<size_t>(outputs));
  if (!config.saved_task) return;
  const TaskTraits& task = traits(*config.saved_task);
  if (names_no_labels && task.has_classes) config.labels = placeholders(outputs);
  if (task.labels == LabelKind::kNumber) name_score(config.labels);
}

// The key is berth's own.
void parse_label_thresholds(const Json& object, ModelConfig& config) {
  constexpr const char* kKey = "label_thresholds";
  const auto found = object.find(kKey);
  if (found == object.end() || found->is_null()) return;
  const auto is_probability = [](const Json& each) {
    return each.is_number() && each >= 0 && each <= 1;
  };
  if (!found->is_array() || !std::ranges::all_of(*found, is_probability)) {
    refuse_key(kKey, "must be a list of numbers from 0 to 1, not " + to_text(*found));
  }
  config.label_thresholds = found->get<std::vector<double>>();
  const size_t labels = config.labels.size();
  if (labels == 0 || config.label_thresholds.size() == labels) return;
  refuse_key(kKey, cat("has ", counted(config.label_thresholds.size(), "number"), " for ",
                       counted(labels, "label")));
}

}  // namespace

ModelConfig parse_config(std::string_view json_text) {
  const Json object = parse_json(json_text);
  if (!object.is_object()) throw Error(Code::kCorrupt, "is not a JSON object");

  const ConfigReader read(object);
  check_keys(object, config_keys());
  check_supported(read);
  const Architecture& row = parse_type(read, object);
  if (const auto text = row.translate ? row.translate(object) : std::nullopt) {
    return parse_config(*text);
  }
  const ConfigKeys& keys = row.keys;
  const ConfigDefaults& defaults = row.defaults;
  ModelConfig config = parse_sizes(read, row, object, json_text);
  config.hidden_act = read.activation(keys.hidden_act, defaults.hidden_act);
  config.hidden_dropout_prob =
      read.number(keys.hidden_dropout_prob, 0, 0.99).value_or(defaults.dropout);
  config.attention_probs_dropout_prob =
      read.number(keys.attention_probs_dropout_prob, 0, 0.99).value_or(defaults.dropout);
  parse_saved_task(read, object, config);
  parse_label_thresholds(object, config);
  if (keys.qa_dropout) config.qa_dropout = read.number(keys.qa_dropout, 0, 0.99).value_or(0.1);
  config.summary_dropout =
      read.number("summary_last_dropout", 0, 0.99).value_or(config.summary_dropout);
  if (keys.classifier_dropout) {
    config.classifier_dropout = read.number(keys.classifier_dropout, 0, 0.99);
  }
  if (!config.classifier_dropout) config.classifier_dropout = defaults.classifier_dropout;
  config.ties_word_embeddings = read.flag("tie_word_embeddings", true);
  config.initializer_range = read.number("initializer_range", 0, 10).value_or(0.02);
  if (keys.layer_norm_eps) {
    config.layer_norm_eps =
        read.number(keys.layer_norm_eps, 1e-30, 1).value_or(defaults.layer_norm_eps);
  }
  if (config.hidden_size % config.num_attention_heads != 0) {
    refuse_key(keys.hidden_size,
               cat("(", config.hidden_size, ") must be a multiple of ", keys.num_attention_heads,
                   " (", config.num_attention_heads, ")"));
  }
  if (keys.mlp_dropout) config.mlp_dropout = read.number(keys.mlp_dropout, 0, 0.99).value_or(0);
  if (row.parse) row.parse(read, config);
  if (config.max_sequence_length() < 1) {
    refuse_key("max_position_embeddings", "leaves no position behind pad_token_id");
  }
  return config;
}

std::string to_config_json(const ModelConfig& config, DType dtype) {
  OrderedJson object = parse_ordered_json(config.source_json, {"id2label", "label2id"});
  if (!object.is_object()) object = OrderedJson::object();
  // Keys of the base model's file that other programs read are kept. What does not hold any more
  // goes.
  for (const char* stale :
       {"num_labels", "finetuning_task", "transformers_version", "_name_or_path", "torch_dtype",
        "sentence_transformers", "sbert_ce_default_activation_function", "label_thresholds"}) {
    object.erase(stale);
  }
  // What the job decides, under the names of the architecture.
  const Architecture& row = architecture(config.type);
  const ConfigKeys& keys = row.keys;
  object["architectures"] = {cat(row.class_prefix, traits(config.task).class_suffix)};
  object["model_type"] = row.model_type;
  object["problem_type"] = traits(config.task).problem_type;
  if (traits(config.task).problem_type.empty()) object.erase("problem_type");
  object["vocab_size"] = config.vocab_size;
  object[keys.hidden_size] = config.hidden_size;
  object[keys.num_hidden_layers] = config.num_hidden_layers;
  object[keys.num_attention_heads] = config.num_attention_heads;
  object[keys.intermediate_size] = config.intermediate_size;
  object["max_position_embeddings"] = config.max_position_embeddings;
  object["pad_token_id"] =
      config.pad_token_id < 0 ? OrderedJson() : OrderedJson(config.pad_token_id);
  if (keys.type_vocab_size) object[keys.type_vocab_size] = config.type_vocab_size;
  if (keys.layer_norm_eps) object[keys.layer_norm_eps] = config.layer_norm_eps;
  if (keys.mlp_dropout) object[keys.mlp_dropout] = config.mlp_dropout;
  if (config.embedding_size > 0) object["embedding_size"] = config.embedding_size;
  if (config.num_hidden_groups > 0) object["num_hidden_groups"] = config.num_hidden_groups;
  if (!object.contains(keys.hidden_act)) {
    object[keys.hidden_act] = activation_name(config.hidden_act);
  }
  object[keys.hidden_dropout_prob] = config.hidden_dropout_prob;
  object[keys.attention_probs_dropout_prob] = config.attention_probs_dropout_prob;
  if (keys.classifier_dropout && config.classifier_dropout) {
    object[keys.classifier_dropout] = *config.classifier_dropout;
  }
  if (keys.qa_dropout) object[keys.qa_dropout] = config.qa_dropout;
  // A file may have a decoder of its own although its configuration ties it (resolve_decoder()).
  if (!config.ties_word_embeddings) object["tie_word_embeddings"] = false;
  object["initializer_range"] = config.initializer_range;
  if (ranks_passages(config.task)) {  // for CrossEncoder of sentence-transformers before version 6
    object["sentence_transformers"] = {{"activation_fn", function_name(config.reranking.form)}};
  }
  object["dtype"] = torch_dtype_name(dtype);
  write_labels(saved_labels(config.task, config.labels), object);
  const bool is_set = traits(config.task).labels == LabelKind::kSet;
  if (is_set && !config.label_thresholds.empty()) {
    object["label_thresholds"] = config.label_thresholds;
  }
  return to_text(object, 2) + "\n";
}

namespace {

const char* google_name(Activation activation) {
  switch (activation) {
    case Activation::kGelu:
    case Activation::kGeluTanh:
      return "gelu";
    case Activation::kRelu:
      return "relu";
    case Activation::kTanh:
      return "tanh";
    case Activation::kSilu:
      return "silu";
  }
  return "gelu";
}

}  // namespace

std::string to_bert_config_json(const ModelConfig& config) {
  OrderedJson object = {
      {"attention_probs_dropout_prob", config.attention_probs_dropout_prob},
      {"hidden_act", google_name(config.hidden_act)},
      {"hidden_dropout_prob", config.hidden_dropout_prob},
      {"hidden_size", config.hidden_size},
      {"initializer_range", config.initializer_range},
      {"intermediate_size", config.intermediate_size},
      {"max_position_embeddings", config.max_position_embeddings},
      {"num_attention_heads", config.num_attention_heads},
      {"num_hidden_layers", config.num_hidden_layers},
      {"type_vocab_size", config.type_vocab_size},
      {"vocab_size", config.vocab_size},
  };
  if (config.num_hidden_groups > 0) {
    object["embedding_size"] = config.embedding_width();
    object["num_hidden_groups"] = config.num_hidden_groups;
    object["inner_group_num"] = 1;
  }
  return to_text(object, 2) + "\n";
}

}  // namespace berth
