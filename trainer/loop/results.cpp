#include "trainer/loop/results.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "storage/base/json.h"
#include "storage/base/process_resources.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/inputs/parameter_files.h"
#include "trainer/model/config.h"
#include "trainer/model/generator.h"
#include "trainer/model/part_names.h"
#include "trainer/model/task.h"
#include "trainer/onnx/make_graph.h"
#include "trainer/onnx/model_writer.h"
#include "trainer/weights/write_tensors.h"

namespace berth {
namespace {

OrderedJson train_object(const TrainResult& result) {
  const TrainingState& state = result.state;
  const double seconds = result.seconds;
  const auto rate = [seconds](int64_t count) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0;
  };
  OrderedJson object = {{"examples", state.examples},
                        {"steps", state.step},
                        {"epochs", result.epochs},
                        {"loss", mean_loss(state.loss_sum, state.loss_weight)},
                        {"examples_per_second", rate(result.examples)},
                        {"real_tokens_per_second", rate(result.tokens)},
                        {"seconds", seconds},
                        {"model_step", result.model_step}};
  if (result.lost_best_step) object["lost_best_step"] = *result.lost_best_step;
  if (result.flops > 0 && seconds > 0) object["flops_per_second"] = result.flops / seconds;
  if (result.compile_seconds > 0) object["compile_seconds"] = result.compile_seconds;
  if (!state.skipped.empty()) object["skipped_updates"] = state.skipped.size();
  return object;
}

OrderedJson class_object(const ClassScore& score) {
  return {{"precision", score.precision},
          {"recall", score.recall},
          {"f1", score.f1},
          {"support", score.support}};
}

// The metrics, and of the classes the worst ones that occur.
OrderedJson eval_summary(const EvaluationResult& evaluation) {
  constexpr size_t kWorst = 10;
  OrderedJson object = {{"examples", evaluation.examples}};
  if (evaluation.has_loss) object["loss"] = evaluation.loss;
  const TaskScores& scores = evaluation.scores;
  for (const auto& [name, value] : scores.metrics) object[name] = value;
  if (scores.majority_rate) object["majority_rate"] = *scores.majority_rate;
  std::vector<ClassScore> classes = scores.classes;
  object["classes"] = classes.size();
  std::erase_if(classes, [](const ClassScore& score) { return score.support == 0; });
  std::ranges::stable_sort(classes, std::ranges::less(), &ClassScore::f1);
  for (size_t i = 0; i < std::min(kWorst, classes.size()); ++i) {
    object["worst_classes"][classes[i].name] = class_object(classes[i]);
  }
  return object;
}

OrderedJson eval_object(const EvaluationResult& evaluation, bool is_summary = false) {
  if (is_summary && evaluation.scores.classes.size() > kMostShownClasses) {
    return eval_summary(evaluation);
  }
  OrderedJson object = {{"examples", evaluation.examples}};
  if (evaluation.has_loss) object["loss"] = evaluation.loss;
  const TaskScores& scores = evaluation.scores;
  for (const auto& [name, value] : scores.metrics) object[name] = value;
  if (scores.majority_rate) object["majority_rate"] = *scores.majority_rate;
  for (const ClassScore& score : scores.classes) {
    object["per_class"][score.name] = class_object(score);
  }
  if (!scores.confusion.empty()) object["confusion_matrix"] = scores.confusion;
  for (size_t i = 0; i < scores.label_thresholds.size(); ++i) {  // the classes are the labels
    object["label_thresholds"][scores.classes[i].name] = scores.label_thresholds[i];
  }
  return object;
}

// The scores of all probes, and what they cost. The share is for this process's part of the run.
OrderedJson probes_object(const TrainResult& result) {
  OrderedJson scores = OrderedJson::array();
  double seconds = 0;
  for (const ProbeReport& probe : result.state.probes) {
    OrderedJson object = {{"step", probe.step},
                          {"name", probe.name},
                          {"examples", probe.examples},
                          {"loss", probe.loss}};
    for (const auto& [name, value] : probe.metrics) object[name] = value;
    object["seconds"] = probe.seconds;
    seconds += probe.seconds;
    scores.push_back(std::move(object));
  }
  return {{"seconds", seconds}, {"share_of_run", probe_share(result)}, {"scores", scores}};
}

// The bias of a decoder that is not tied is also written under the head's name: transformers 5 has
// both, and version 4 takes the latter.
std::vector<SavedTensor> exported_tensors(const ModelConfig& config,
                                          const ParameterTensors& values) {
  std::vector<SavedTensor> tensors = saved_tensors(values);
  std::erase_if(
      tensors, [&](const SavedTensor& tensor) { return !is_exported(config, tensor.spec().name); });
  const MaskedLmHeadNames head = masked_lm_head_names(config);
  const auto bias = std::ranges::find(tensors, head.bias, &SavedTensor::name);
  if (!config.ties_word_embeddings && bias != tensors.end()) {
    const SavedTensor own = *bias;
    for (const std::string& name : head.bias_aliases) {
      tensors.push_back({name, own.from, own.parameter});
    }
  }
  return tensors;
}

// The step that byte-level BPE begins with. nullptr: it is another tokenizer's. A later step of a
// sequence would add a space to each part that an earlier one has made.
OrderedJson* byte_level_step(OrderedJson& step) {
  if (!step.is_object()) return nullptr;
  if (step.value("type", "") == "ByteLevel") return &step;
  const bool has_steps = step.contains("pretokenizers") && !step["pretokenizers"].empty();
  return has_steps ? byte_level_step(step["pretokenizers"][0]) : nullptr;
}

// The files of a tokenizer. They name the inputs that the model was trained with. A model of words
// was trained with a space before each word, and byte-level BPE does so in transformers only where
// its files say it.
std::vector<Tokenizer::File> exported_files(const Tokenizer& tokenizer, const ModelConfig& config) {
  constexpr const char *kClass = "tokenizer_config.json", *kSteps = "tokenizer.json";
  std::vector<Tokenizer::File> files = tokenizer.files();
  if (files.empty()) return files;  // the rows were token ids
  const auto find = [&](const char* name) {
    return std::ranges::find(files, name, &Tokenizer::File::name);
  };
  if (find(kClass) == files.end()) files.push_back({kClass, "{}"});
  const auto of_class = find(kClass);
  of_class->content =
      with_input_names(of_class->content, tokenizer.has_token_types() && config.has_token_types());
  if (traits(config.task).inputs != InputKind::kWords || !tokenizer.takes_no_space(""))
    return files;
  if (const auto steps = find(kSteps); steps != files.end()) {
    OrderedJson root = parse_ordered_json(steps->content);
    OrderedJson* const step = byte_level_step(root["pre_tokenizer"]);
    if (step == nullptr) return files;
    (*step)["add_prefix_space"] = true;
    steps->content = to_text(root, 2) + "\n";
  }
  OrderedJson object = parse_ordered_json(of_class->content);
  object["add_prefix_space"] = true;
  of_class->content = to_text(object, 2) + "\n";
  return files;
}

}  // namespace

bool is_exported(const ModelConfig& config, std::string_view parameter) {
  if (parameter.starts_with(kGeneratorPrefix) || parameter.starts_with(kDensePrefix)) return false;
  return !are_vectors(traits(config.task).labels) || parameter.starts_with(base_prefix(config));
}

double probe_share(const TrainResult& result) {
  return result.loop_seconds > 0 ? result.probe_seconds / result.loop_seconds : 0;
}

std::string to_json(const JobMetrics& metrics) { return to_summary_json(metrics, ""); }

std::string to_summary_json(const JobMetrics& metrics, const std::string& details) {
  const bool is_summary = !details.empty();
  OrderedJson object = OrderedJson::object();
  if (metrics.result) object["train"] = train_object(*metrics.result);
  if (metrics.result && !metrics.result->state.probes.empty()) {
    object["probes"] = probes_object(*metrics.result);
  }
  if (metrics.evaluation) object["eval"] = eval_object(*metrics.evaluation, is_summary);
  if (metrics.mismatched) object["eval_mm"] = eval_object(*metrics.mismatched, is_summary);
  object["task"] = task_name(metrics.task);
  if (metrics.in_fp32) object["eval_fp32"] = eval_object(*metrics.in_fp32, is_summary);
  object["precision"] = name_of(metrics.precision);
  object["kernels"] = metrics.kernels;
  if (is_summary) object["details"] = details;
  if (!metrics.model_bytes.empty()) object["model_bytes"] = metrics.model_bytes;
  object["peak_rss_bytes"] = process_usage().peak_resident_bytes;
  object["finished"] = true;
  return to_text(object, 2) + "\n";
}

void remove_model_config(Storage& storage, const Uri& directory) {
  for (const char* name : {kConfigFile, kBertConfigFile}) {
    // An account that may not delete can write a new model.
    if (storage.stat(directory / name)) storage.remove(directory / name);
  }
}

void export_model(Storage& storage, const Uri& directory, const ModelConfig& config,
                  const ParameterTensors& values, DType dtype, const Tokenizer& tokenizer,
                  const JobMetrics& metrics) {
  for (const Tokenizer::File& file : exported_files(tokenizer, config)) {
    write_text(storage, directory / file.name, file.content);
  }
  write_text(storage, directory / "README.md", model_card(config, metrics));
  const auto about_bytes = static_cast<uint64_t>(total_elements(values.specs())) * size_of(dtype);
  store_object(storage, directory / "model.safetensors",
               [&](ByteSink& sink) {
                 write_tensors(sink, exported_tensors(config, values), dtype, {{"format", "pt"}});
               },
               {.if_generation = {}, .size_hint = about_bytes});
  write_text(storage, directory / kConfigFile, to_config_json(config, dtype));
}

void export_tensorflow(Storage& storage, const Uri& directory, const ModelConfig& config,
                       const ParameterTensors& values) {
  const CopiedTensors copied(exported_tensors(config, values));
  write_checkpoint(storage, directory / "bert_model.ckpt", copied.tensors());
  write_text(storage, directory / kBertConfigFile, to_bert_config_json(config));
}

namespace {

// A text as YAML, of which JSON is a part. ASCII, so that no control character is left.
std::string yaml(const std::string& text) { return to_ascii_text(Json(text)); }

// The name with nothing but what the hub allows in an id: "org/name", or "my-train.csv".
std::string dataset_id(const std::string& name) {
  std::string id;
  for (const char c : name) {
    const bool divides = c == '/' && id.find('/') == std::string::npos;
    const bool is_plain = divides || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    id += is_plain ? c : '-';
  }
  return id;
}

// The hub's metric of this name, and "" where it has none.
std::string_view hub_metric(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kMetrics[] = {
      {"accuracy", "accuracy"},
      {"f1", "f1"},
      {"f1_macro", "f1"},
      {"f1_micro", "f1"},
      {"entity_f1", "f1"},
      {"precision", "precision"},
      {"recall", "recall"},
      {"matthews_correlation", "matthews_correlation"},
      {"pearson", "pearsonr"},
      {"spearman", "spearmanr"},
      {"pearson_cosine", "pearsonr"},
      {"spearman_cosine", "spearmanr"},
      {"mse", "mse"},
      {"roc_auc", "roc_auc"},
      {"average_precision", "average_precision"},
      {"exact_match", "exact_match"},
      {"perplexity", "perplexity"}};
  for (const auto& [ours, hubs] : kMetrics) {
    if (ours == name) return hubs;
  }
  return "";
}

std::string model_index(const TaskTraits& task, const JobMetrics& metrics) {
  const std::string dataset = card_name(metrics.dataset);
  if (!metrics.evaluation || task.pipeline_tag.empty() || dataset.empty()) return "";
  std::string scores;
  for (const auto& [name, value] : metrics.evaluation->scores.metrics) {
    const std::string_view type = hub_metric(name);
    if (type.empty() || !std::isfinite(value)) continue;
    scores += cat("    - type: ", type, "\n      name: ", name, "\n      value: ", value, "\n");
  }
  if (scores.empty()) return "";
  return cat("model-index:\n- name: ", task.card_title,
             "\n  results:\n  - task:\n      type: ", task.pipeline_tag,
             "\n    dataset:\n      name: ", yaml(dataset), "\n      type: ", dataset_id(dataset),
             "\n    metrics:\n", scores);
}

std::string metadata(const ModelConfig& config, const JobMetrics& metrics) {
  const TaskTraits& task = traits(config.task);
  const bool compares = task.rows == HeadRows::kGroups || ranks_passages(config.task);
  std::string text =
      cat("---\nlibrary_name: ", compares ? "sentence-transformers" : "transformers", "\n");
  if (!task.pipeline_tag.empty()) text += cat("pipeline_tag: ", task.pipeline_tag, "\n");
  const std::string base = hub_name(metrics.base_model);
  if (!base.empty()) text += cat("base_model: ", yaml(base), "\n");
  return cat(text, "tags:\n- berth\n", model_index(task, metrics), "---\n\n");
}

// A text in a cell of a table: in one line, with nothing that Markdown or HTML would read.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (std::string_view("\\`*_[]|").find(c) != std::string_view::npos) {
      out += {'\\', c};
    } else {
      out += c;
    }
  }
  return out;
}

// Above which probability each label of a set is predicted.
std::string threshold_row(const ModelConfig& config) {
  const std::vector<double>& thresholds = config.label_thresholds;
  if (traits(config.task).labels != LabelKind::kSet || thresholds.empty()) return "";
  std::string text;
  for (size_t i = 0; i < thresholds.size(); ++i) {
    text += cat(i == 0 ? "" : ", ", cell(config.labels[i]), " ", thresholds[i]);
  }
  return cat("| a label is predicted above the probability | ", text,
             " (label_thresholds in config.json) |\n");
}

}  // namespace

std::string hub_name(const std::string& uri) {
  constexpr std::string_view kScheme = "hf://", kDatasets = "datasets/";
  if (!uri.starts_with(kScheme)) return "";
  std::string name = uri.substr(kScheme.size());
  if (name.starts_with(kDatasets)) name.erase(0, kDatasets.size());
  const size_t owner = name.find('/');
  const size_t end = name.find_first_of("/@?", owner == std::string::npos ? 0 : owner + 1);
  return name.substr(0, end);
}

std::string card_name(const std::string& uri) {
  const std::string on_hub = hub_name(uri);
  if (!on_hub.empty()) return on_hub;
  const std::string path = uri.substr(0, uri.find_first_of("?#"));
  const size_t last = path.find_last_not_of('/');
  if (last == std::string::npos) return "";
  const size_t slash = path.rfind('/', last);
  return path.substr(slash + 1, last - slash);
}

std::string model_card(const ModelConfig& config, const JobMetrics& metrics) {
  const TaskTraits& task = traits(config.task);
  const bool is_encoder = task.class_suffix == "Model";
  const std::string automatic = cat("AutoModel", is_encoder ? "" : task.class_suffix);
  const std::string loader =
      task.rows == HeadRows::kGroups ? "SentenceTransformer(path)`, or with `AutoModel"
      : ranks_passages(config.task)  ? cat("CrossEncoder(path)`, or with `", automatic)
                                     : automatic;
  std::string card = cat(metadata(config, metrics), "# ", task.card_title, "\n\n",
                         task.card_subject, ", fine-tuned with berth. It loads with\n`", loader,
                         ".from_pretrained` and `AutoTokenizer.from_pretrained`.\n\n"
                         "| | |\n| --- | --- |\n");
  card += cat("| architecture | ", counted(config.num_hidden_layers, "layer"), ", hidden size ",
              config.hidden_size, ", ", counted(config.num_attention_heads, "head"), " |\n");
  const std::string labels =
      joined(config.labels, ", ", [&](const std::string& label) { return cell(label); });
  if (!labels.empty()) card += cat("| labels | ", labels, " |\n");
  card += threshold_row(config);
  if (metrics.evaluation) {
    card += cat("| evaluated on | ", counted(metrics.evaluation->examples, "example"), " |\n");
    const TaskScores& scores = metrics.evaluation->scores;
    for (const auto& [name, value] : scores.metrics) {
      card += cat("| ", name, " | ", value, " |\n");
    }
    if (scores.majority_rate) card += cat("| majority class | ", *scores.majority_rate, " |\n");
  }
  return card;
}

void export_onnx(Storage& storage, const Uri& directory, const ModelConfig& config,
                 const ParameterTensors& values, DType dtype, bool gives_types) {
  const std::unique_ptr<onnx::Graph> graph =
      onnx::make_graph(config, values.specs(), dtype, gives_types);
  const onnx::ModelWriter writer(*graph, values, kOnnxDataFile);
  const Uri model = directory / kOnnxModelFile, data = directory / kOnnxDataFile;
  if (writer.has_data_file()) {
    // An old model must not find the new parameters, so it is removed first, and the new one is
    // written last.
    storage.remove(model);
    store_object(storage, data, [&](ByteSink& sink) { writer.write_data(sink); },
                 {.if_generation = {}, .size_hint = writer.data_bytes()});
  }
  store_object(storage, model, [&](ByteSink& sink) { writer.write_model(sink); },
               {.if_generation = {}, .size_hint = writer.model_bytes()});
  if (!writer.has_data_file()) storage.remove(data);  // of an earlier, larger model
}

}  // namespace berth
