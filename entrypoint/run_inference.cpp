#include <optional>

#include "entrypoint/data_sources.h"
#include "entrypoint/job.h"
#include "entrypoint/labelled_data.h"
#include "entrypoint/preflight.h"
#include "entrypoint/standard_output.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/store_object.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/predict.h"
#include "trainer/loop/results.h"

namespace berth {
namespace {

// A finished model, ready to run over rows.
struct FinishedModel {
  explicit FinishedModel(Job& job)
      : sources(resolve_data(job.storage, job.settings)),
        machine(job.command_line),
        folder(start(job), job.settings.model),
        model(describe_model(folder, job.settings.model, job.settings.data)) {
    ModelConfig& config = model.config;
    // What the file says, since rows to predict may have no labels that would tell.
    config.task = sources.task.value_or(config.saved_task.value_or(Task::kSequenceClassification));
    if (config.task == Task::kRegression) config.labels = {"score"};
    if (config.task == Task::kQuestionAnswering) config.labels.clear();
    if (config.labels.empty()) config.labels = sources.labels;  // of TensorFlow's configuration
    if (config.labels.empty() && config.task != Task::kQuestionAnswering) {
      throw Error(Code::kUsage, "the configuration names no labels (id2label)", folder.name(),
                  "give a model that was fine-tuned");
    }
    parameters.emplace(parameter_table(config), /*with_gradients=*/false, *machine.kernels);
    fill_parameters(folder, job.settings.model, config, job.settings.training.seed, *parameters,
                    *machine.kernels, HeadNeed::kRequired);
    network.emplace(config, batch_limits(job.settings, /*training=*/false), *parameters,
                    *machine.kernels);
  }

  LoadedTable load(Job& job, DataRequest request) const {
    request.rules.task = model.config.task;
    request.rules.token_limits = token_limits(model.config);
    return load_table(job.storage, request);
  }

  DataSources sources;
  Machine machine;
  ModelFolder folder;
  ModelDescription model;
  std::optional<Parameters> parameters;
  std::optional<Model> network;

 private:
  static Storage& start(Job& job) {
    preflight(job.storage, job.settings);
    return job.storage;
  }
};

[[noreturn]] void stopped() {
  throw Error(Code::kStopped, "stopped by a signal", "", "start it again with the same command");
}

// The class names that rows may have as labels.
std::vector<std::string> label_names(const FinishedModel& finished) {
  const ModelConfig& config = finished.model.config;
  if (!has_classes(config.task)) return config.labels;
  const std::vector<std::string>& known = finished.sources.labels;
  return known.size() == config.labels.size() ? known : evaluation_labels(config);
}

EvaluationResult evaluate_rows(Job& job, FinishedModel& finished, const DataRequest& request) {
  const Task task = finished.model.config.task;
  const std::vector<std::string> labels = label_names(finished);
  DataRequest known = request;
  if (has_classes(task)) known.rules.known_labels = labels;
  const LoadedTable loaded = finished.load(job, known);
  const LabelledData rows(loaded, task, labels, /*wants_labels=*/true, job.settings,
                          *finished.model.tokenizer);
  Dataset data = rows.all_rows();
  const std::optional<EvaluationResult> evaluation = evaluate(
      *finished.network, *finished.machine.kernels, data,
      job.settings.training.examples_per_evaluation_batch(),
      {.labels = labels, .answers = answer_options(job.settings.data)}, job.output, job.stop);
  if (!evaluation) stopped();
  return *evaluation;
}

}  // namespace

void run_evaluation(Job& job) {
  FinishedModel finished(job);
  const ModelConfig& config = finished.model.config;
  const EvaluationResult evaluation = evaluate_rows(job, finished, finished.sources.eval);
  job.output.on_evaluation({.examples = evaluation.examples,
                            .loss = evaluation.loss,
                            .seconds = evaluation.seconds,
                            .metrics = evaluation.scores.metrics,
                            .majority_rate = evaluation.scores.majority_rate,
                            .split = "eval"});
  JobMetrics metrics{.result = std::nullopt,
                     .evaluation = evaluation,
                     .task = config.task,
                     .precision = finished.machine.kernels->product_dtype(),
                     .kernels = finished.machine.kernels->description()};
  if (!finished.sources.mismatched.path.empty()) {
    metrics.mismatched = evaluate_rows(job, finished, finished.sources.mismatched);
  }
  job.output.on_finish();
  StandardOutput standard_output;
  standard_output.write(as_bytes(to_json(metrics)));
  standard_output.close();
}

void run_prediction(Job& job) {
  FinishedModel finished(job);
  const ModelConfig& config = finished.model.config;
  const LoadedTable loaded = finished.load(job, finished.sources.predict);
  const LabelledData rows(loaded, config.task, config.labels, /*wants_labels=*/false, job.settings,
                          *finished.model.tokenizer);
  Dataset data = rows.all_rows();
  const auto lines = make_prediction_lines(data, config.labels, answer_options(job.settings.data));
  const auto write = [&](std::initializer_list<PredictionFile> files) {
    if (!write_predictions(*finished.network, *finished.machine.kernels, data,
                           job.settings.training.examples_per_evaluation_batch(), files, job.output,
                           job.stop)) {
      stopped();
    }
  };
  const std::string& job_dir = job.settings.output.job_dir;
  if (job_dir.empty()) {
    StandardOutput standard_output;
    write({{*lines, standard_output}});
    standard_output.close();
  } else {
    // Whoever calls as the tutorial does looks for the tutorial's file, too.
    const bool has_results =
        config.task == Task::kSequenceClassification || config.task == Task::kRegression;
    const bool as_tutorial = has_results && !job.settings.data.input_meta_data_path.empty();
    const Uri directory = Uri::parse(job_dir);
    store_object(job.storage, directory / "predictions.tsv", [&](ByteSink& predictions) {
      if (!as_tutorial) return write({{*lines, predictions}});
      store_object(job.storage, directory / "test_results.tsv", [&](ByteSink& results) {
        const auto result_lines = make_test_results(data);
        write({{*lines, predictions}, {*result_lines, results}});
      });
    });
  }
  job.output.on_finish();
  log_info(cat("predicted ", data.rows(), " rows"));
}

}  // namespace berth
