#include <algorithm>
#include <cmath>
#include <optional>

#include "entrypoint/memory/training_memory.h"
#include "entrypoint/modes/data_sources.h"
#include "entrypoint/modes/job.h"
#include "entrypoint/modes/labelled_data.h"
#include "entrypoint/modes/preflight.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/spill_file.h"
#include "storage/base/text.h"
#include "storage/store_object.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/predict.h"
#include "trainer/loop/results.h"

namespace berth {
namespace {

// A finished model, ready to run over rows.
struct FinishedModel {
  explicit FinishedModel(Job& job)
      : sources(resolve_data(job.storage, job.command_line, job.settings)),
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
    program = program_bytes();
    parameters.emplace(parameter_table(config), /*with_gradients=*/false, *machine.kernels);
    fill_parameters(folder, job.settings.model, config, job.settings.training.seed, *parameters,
                    *machine.kernels, HeadNeed::kRequired);
  }

  LoadedTable load(Job& job, DataRequest request) const {
    request.rules.task = model.config.task;
    request.rules.token_limits = token_limits(model.config);
    return load_table(job.storage, request);
  }

  // For batches of these rows. Throws kMemory where they need more than there is.
  Model& network_for(const Job& job, const LoadedTable& loaded, Dataset& data) {
    const DataMemory memory{.program = program,
                            .tables = loaded.table->memory_bytes() + data.memory_bytes(),
                            .most_examples = data.size()};
    require_inference_memory(job.settings, model.config, memory, *machine.kernels);
    network.emplace(model.config, batch_limits(job.settings, /*training=*/false, data.size()),
                    *parameters, *machine.kernels);
    return *network;
  }

  DataSources sources;
  Machine machine;
  ModelFolder folder;
  ModelDescription model;
  size_t program = 0;  // bytes, as program_bytes() counts them
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

// The class names that rows may have as labels, in the order of the model's logits. Throws kUsage
// where the task's names are in part the model's.
std::vector<std::string> label_names(const FinishedModel& finished) {
  const ModelConfig& config = finished.model.config;
  if (!has_classes(config.task)) return config.labels;
  const std::vector<std::string>& known = finished.sources.labels;
  if (known.size() != config.labels.size()) return evaluation_labels(config);
  if (const auto ordered = in_order_of(config.labels, known)) return *ordered;
  if (are_placeholders(config.labels)) return known;
  for (size_t i = 0; i < known.size(); ++i) {
    if (std::ranges::find(config.labels, known[i]) == config.labels.end()) continue;
    throw Error(Code::kUsage,
                cat("the model has the task's label ", quoted(known[i]), ", but not all of them"),
                finished.folder.name(), "name the labels in its config.json's id2label");
  }
  log_info(cat("the model's labels are taken for the task's in this order: ",
               quoted(config.labels.front()), " is ", quoted(known.front()), ", ..."));
  return known;
}

EvaluationResult evaluate_rows(Job& job, FinishedModel& finished, const DataRequest& request) {
  const Task task = finished.model.config.task;
  const std::vector<std::string> labels = label_names(finished);
  DataRequest known = request;
  if (has_classes(task)) known.rules.known_labels = labels;
  const LoadedTable loaded = finished.load(job, known);
  warn_of_unanswerable(loaded, job.settings.data);
  const LabelledData rows(loaded, task, labels, /*wants_labels=*/true, job.settings,
                          *finished.model.tokenizer);
  Dataset data = rows.all_rows();
  const std::optional<EvaluationResult> evaluation = evaluate(
      finished.network_for(job, loaded, data), *finished.machine.kernels, data,
      job.settings.training.examples_per_evaluation_batch(),
      {.labels = labels, .answers = answer_options(job.settings.data)}, job.output, job.stop);
  if (!evaluation) stopped();
  if (!std::isfinite(evaluation->loss)) {
    throw Error(Code::kBadData, "the model's loss is no number", finished.folder.name(),
                "its parameters may be damaged, or of a job that diverged");
  }
  return *evaluation;
}

class SpillSink final : public ByteSink {
 public:
  explicit SpillSink(SpillFile& file) : file_(file) {}
  void write(Bytes bytes) override { file_.append(bytes); }
  Stat close() override { return {}; }

 private:
  SpillFile& file_;
};

void copy(const SpillFile& file, ByteSink& sink) {
  std::vector<std::byte> buffer(size_t{1} << 20);
  for (uint64_t offset = 0; offset < file.size();) {
    const auto part = std::span(buffer).first(
        static_cast<size_t>(std::min<uint64_t>(buffer.size(), file.size() - offset)));
    file.read_at(offset, part);
    sink.write(part);
    offset += part.size();
  }
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
  Model& network = finished.network_for(job, loaded, data);
  const auto make_lines = [&] {
    return make_prediction_lines(data, config.labels, answer_options(job.settings.data));
  };
  const auto write = [&](std::initializer_list<PredictionFile> files) {
    if (!write_predictions(network, *finished.machine.kernels, data,
                           job.settings.training.examples_per_evaluation_batch(), files, job.output,
                           job.stop)) {
      stopped();
    }
  };
  const std::string& job_dir = job.settings.output.job_dir;
  if (job_dir.empty()) {
    StandardOutput standard_output;
    const auto lines = make_lines();
    write({{*lines, standard_output}});
    standard_output.close();
  } else {
    // Whoever calls as the tutorial does looks for the tutorial's file, too.
    const bool has_results =
        config.task == Task::kSequenceClassification || config.task == Task::kRegression;
    const bool as_tutorial = has_results && !job.settings.data.input_meta_data_path.empty();
    const JobDirectory directory(job.settings.output);
    std::optional<SpillFile> results;
    store_object(job.storage, directory.predictions(), [&](ByteSink& predictions) {
      const auto lines = make_lines();
      if (!as_tutorial) return write({{*lines, predictions}});
      SpillSink result_sink(results.emplace());
      const auto result_lines = make_test_results(data);
      write({{*lines, predictions}, {*result_lines, result_sink}});
    });
    if (results) {
      store_object(job.storage, directory.test_results(),
                   [&](ByteSink& sink) { copy(*results, sink); });
    }
  }
  job.output.on_finish();
  log_info(cat("predicted ", data.rows(), " rows"));
}

}  // namespace berth
