#include <numeric>
#include <optional>

#include "entrypoint/job.h"
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

// A finished classifier, ready to run over rows.
struct Classifier {
  explicit Classifier(Job& job)
      : machine(job.command_line),
        folder(job.storage, job.settings.model),
        model(describe_model(folder, job.settings.model, job.settings.data)) {
    if (model.config.labels.empty()) {
      throw Error(Code::kUsage, "the configuration names no labels (id2label)", folder.name(),
                  "give a model that was fine-tuned");
    }
    parameters.emplace(parameter_table(model.config), /*with_gradients=*/false, *machine.kernels);
    fill_parameters(folder, job.settings.model, model.config, job.settings.training.seed,
                    *parameters, *machine.kernels, HeadNeed::kRequired);
    network.emplace(model.config, batch_limits(job.settings, /*training=*/false), *parameters,
                    *machine.kernels);
  }

  Dataset rows(const TextTable& table, const std::vector<int32_t>& labels, int32_t length) const {
    std::vector<uint32_t> all(table.rows());
    std::iota(all.begin(), all.end(), 0u);
    return Dataset(table, std::move(all), labels, *model.tokenizer, length);
  }

  Machine machine;
  ModelFolder folder;
  ModelDescription model;
  std::optional<Parameters> parameters;
  std::optional<Model> network;
};

[[noreturn]] void stopped() {
  throw Error(Code::kStopped, "stopped by a signal", "", "start it again with the same command");
}

ColumnChoice column_choice(const DataOptions& options) {
  return {options.text_column, options.text_pair_column, options.label_column};
}

}  // namespace

void run_evaluation(Job& job) {
  const DataOptions& options = job.settings.data;
  preflight(job.storage, job.settings);
  Classifier classifier(job);
  const LoadedTable loaded = load_table(job.storage, "eval", options.eval_data_file,
                                        column_choice(options), LabelNeed::kRequired);
  std::vector<int32_t> labels;
  try {
    labels = label_ids(loaded.table, evaluation_labels(classifier.model.config));
  } catch (const Error& error) {
    throw error.at(loaded.name);
  }
  Dataset data = classifier.rows(loaded.table, labels, options.max_seq_length);
  const auto num_labels = static_cast<int64_t>(classifier.model.config.labels.size());
  const std::optional<EvaluationResult> evaluation = evaluate(
      *classifier.network, *classifier.machine.kernels, data,
      job.settings.training.examples_per_evaluation_batch(), num_labels, job.output, job.stop);
  if (!evaluation) stopped();
  job.output.on_evaluation({.examples = evaluation->examples,
                            .loss = evaluation->loss,
                            .seconds = evaluation->seconds,
                            .metrics = evaluation->metrics,
                            .majority_rate = evaluation->majority_rate,
                            .split = "eval"});
  job.output.on_finish();
  const std::string metrics =
      to_json(JobMetrics{.result = std::nullopt,
                         .evaluation = evaluation,
                         .precision = job.settings.precision,
                         .kernels = classifier.machine.kernels->description()});
  StandardOutput standard_output;
  standard_output.write(as_bytes(metrics));
  standard_output.close();
}

void run_prediction(Job& job) {
  const DataOptions& options = job.settings.data;
  preflight(job.storage, job.settings);
  Classifier classifier(job);
  const LoadedTable loaded = load_table(job.storage, "predict", options.predict_data_file,
                                        column_choice(options), LabelNeed::kIfPresent);
  Dataset data = classifier.rows(loaded.table, {}, options.max_seq_length);
  const auto write = [&](ByteSink& sink) {
    if (!write_predictions(*classifier.network, *classifier.machine.kernels, data,
                           job.settings.training.examples_per_evaluation_batch(),
                           classifier.model.config.labels, job.output, job.stop, sink)) {
      stopped();
    }
  };
  if (job.settings.output.job_dir.empty()) {
    StandardOutput standard_output;
    write(standard_output);
    standard_output.close();
  } else {
    store_object(job.storage, Uri::parse(job.settings.output.job_dir) / "predictions.tsv", write);
  }
  job.output.on_finish();
  log_info(cat("predicted ", data.size(), " rows"));
}

}  // namespace berth
