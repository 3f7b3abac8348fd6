#include "trainer/loop/results.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "storage/base/counted.h"
#include "storage/base/json.h"
#include "storage/base/process_usage.h"
#include "storage/base/text.h"
#include "storage/store_object.h"
#include "storage/whole_file.h"
#include "trainer/loop/model_card.h"
#include "trainer/loop/tensorflow_files.h"
#include "trainer/model/bert_config.h"
#include "trainer/model/generator_config.h"
#include "trainer/model/part_names.h"
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
                        {"seconds", seconds}};
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
  OrderedJson object = {{"examples", evaluation.examples}, {"loss", evaluation.loss}};
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
  OrderedJson object = {{"examples", evaluation.examples}, {"loss", evaluation.loss}};
  const TaskScores& scores = evaluation.scores;
  for (const auto& [name, value] : scores.metrics) object[name] = value;
  if (scores.majority_rate) object["majority_rate"] = *scores.majority_rate;
  for (const ClassScore& score : scores.classes) {
    object["per_class"][score.name] = class_object(score);
  }
  if (!scores.confusion.empty()) object["confusion_matrix"] = scores.confusion;
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

// All tensors, but for a generator, and for the head of a model that is saved as an encoder alone.
std::vector<SavedTensor> exported_tensors(const ModelConfig& config,
                                          const ParameterTensors& values) {
  std::vector<SavedTensor> tensors = saved_tensors(values);
  std::erase_if(tensors, [](const SavedTensor& tensor) {
    return tensor.spec().name.starts_with(kGeneratorPrefix);
  });
  if (!are_vectors(traits(config.task).labels)) return tensors;
  const std::string prefix = base_prefix(config);
  std::erase_if(tensors,
                [&](const SavedTensor& tensor) { return !tensor.spec().name.starts_with(prefix); });
  return tensors;
}

}  // namespace

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

void export_model(Storage& storage, const Uri& directory, const ModelConfig& config,
                  const ParameterTensors& values, DType dtype, const Tokenizer& tokenizer,
                  const JobMetrics& metrics) {
  write_text(storage, directory / "config.json", to_config_json(config, dtype));
  for (const Tokenizer::File& file : tokenizer.files()) {
    write_text(storage, directory / file.name, file.content);
  }
  write_text(storage, directory / "README.md", model_card(config, metrics));
  const auto about_bytes = static_cast<uint64_t>(total_elements(values.specs())) * size_of(dtype);
  store_object(storage, directory / "model.safetensors",
               [&](ByteSink& sink) {
                 write_tensors(sink, exported_tensors(config, values), dtype, {{"format", "pt"}});
               },
               {.if_generation = {}, .size_hint = about_bytes});
}

void export_tensorflow(Storage& storage, const Uri& directory, const ModelConfig& config,
                       const ParameterTensors& values) {
  const CopiedTensors copied(saved_tensors(values));
  write_checkpoint(storage, directory / "bert_model.ckpt", copied.tensors());
  write_text(storage, directory / "bert_config.json", to_bert_config_json(config));
}

}  // namespace berth
