#include "trainer/loop/model_card.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "storage/base/counted.h"
#include "storage/base/json.h"
#include "storage/base/printable.h"
#include "storage/base/text.h"
#include "trainer/model/task.h"

namespace berth {
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
  const bool compares = task.rows == HeadRows::kGroups;
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
  const std::string loader = task.rows == HeadRows::kGroups
                                 ? "SentenceTransformer(path)`, or with `AutoModel"
                                 : cat("AutoModel", is_encoder ? "" : task.class_suffix);
  std::string card = cat(metadata(config, metrics), "# ", task.card_title, "\n\n",
                         task.card_subject, ", fine-tuned with berth. It loads with\n`", loader,
                         ".from_pretrained` and `AutoTokenizer.from_pretrained`.\n\n"
                         "| | |\n| --- | --- |\n");
  card += cat("| architecture | ", counted(config.num_hidden_layers, "layer"), ", hidden size ",
              config.hidden_size, ", ", counted(config.num_attention_heads, "head"), " |\n");
  std::string labels;
  for (const std::string& label : config.labels) {
    labels += (labels.empty() ? "" : ", ") + cell(label);
  }
  if (!labels.empty()) card += cat("| labels | ", labels, " |\n");
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

}  // namespace berth
