#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "entrypoint/job/cluster.h"
#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/finished_model.h"
#include "entrypoint/job/job_results.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/retrieval.h"
#include "entrypoint/job/token_survey.h"
#include "entrypoint/modes/modes.h"
#include "entrypoint/report/progress_lines.h"
#include "entrypoint/report/standard_streams.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/storage.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/loop/evaluate.h"
#include "trainer/loop/evaluate_retrieval.h"
#include "trainer/loop/results.h"
#include "trainer/tasks/glue.h"
#include "trainer/tasks/predictions.h"
#include "trainer/tasks/task_results.h"

namespace berth {

void run_inference(Job& job, void (*mode)(Job& job)) {
  if (!Cluster::is_wanted(job.command_line)) return mode(job);
  work_together(job, [&](Cluster& cluster) {
    if (!cluster.leads()) job.output.keep_observers(0);
    Job worker = job;
    worker.ranks = cluster.ranks();
    worker.without_bf16 = share_precision(job, *cluster.ranks()).without_bf16;
    mode(worker);
  });
}

namespace {

// The class names that rows may have as labels, in the order of the model's logits. `others`: the
// names that a benchmark has for them, if these are other ones.
struct LabelNames {
  std::vector<std::string> names{}, others{};
};

// Throws kUsage if the model has only some of the task's label names, because the rest cannot be
// matched.
LabelNames label_names(const FinishedModel& finished) {
  const ModelConfig& config = finished.config();
  if (!traits(config.task).has_classes) return {config.labels};
  const std::vector<std::string>& known = finished.sources().labels;
  if (known.size() != config.labels.size()) return {evaluation_labels(config)};
  if (const auto ordered = in_order_of(config.labels, known)) return {*ordered};
  if (are_placeholders(config.labels)) {
    const GlueTask* const glue = find_glue_task(finished.settings().data.task);
    if (glue != nullptr && glue->has_several_orders) {
      throw Error(
          Code::kUsage,
          "the model's labels have no names, and models of this task have them in different "
          "orders",
          finished.name(),
          "pass --label-names entailment,neutral,contradiction, as Hugging Face's data set "
          "has them, or contradiction,entailment,neutral, as google-research/bert has them");
    }
    return {known};
  }
  for (size_t i = 0; i < known.size(); ++i) {
    if (std::ranges::find(config.labels, known[i]) == config.labels.end()) continue;
    throw Error(Code::kUsage,
                cat("the model has the task's label ", quoted(known[i]), ", but not all of them"),
                finished.name(), "name the labels in its config.json's id2label");
  }
  log_info(
      cat("the model's labels have other names than the task's and are matched by their order: ",
          quoted(config.labels.front()), " is ", quoted(known.front()), ", ..."));
  return {.names = config.labels, .others = known};
}

// Reads labelled rows and evaluates the model on them. Throws kStopped where a signal came, and
// kBadData where the loss is not finite.
EvaluationResult evaluate_rows(Job& job, FinishedModel& finished, const DataRequest& request) {
  const Settings& settings = finished.settings();
  const auto [labels, others] = label_names(finished);
  DataRequest known = request;
  if (traits(finished.config().task).has_classes) {
    known.rules.known_labels = labels;
    known.rules.other_labels = others;
    known.rules.labels_by_number = true;
  }
  LoadedTable loaded = finished.load(known);
  finished.join(loaded);
  warn_of_unanswerable(loaded, settings.data);
  const LabelledData rows(loaded, loaded.task, labels, /*wants_labels=*/true, settings,
                          finished.tokenizer());
  warn_of_tokens(loaded, finished.config(), settings, finished.tokenizer());
  Dataset data = rows.rows_to_evaluate();
  if (!has_any_label(data)) {
    throw Error(Code::kBadData, "there is nothing to evaluate: no row has a label", loaded.name,
                hint_for_labels(data, settings, finished.tokenizer()));
  }
  const std::optional<EvaluationResult> evaluation = evaluate(
      finished.engine_for(loaded, data), data, settings.training.examples_per_evaluation_batch(),
      {.labels = labels, .rules = prediction_rules(settings.data, finished.config())}, job.output,
      job.stop, job.ranks);
  if (!evaluation) throw_stopped();
  if (!std::isfinite(evaluation->loss)) {
    throw Error(Code::kBadData, "the loss of the model is not a finite number", finished.name(),
                "its parameters may be damaged, or come from a job that diverged");
  }
  return *evaluation;
}

// Evaluates the model on a retrieval set.
EvaluationResult evaluate_search(Job& job, FinishedModel& finished, const RetrievalSet& set) {
  const FinishedModel::Search search = finished.search(set);
  const std::optional<EvaluationResult> evaluation =
      evaluate_retrieval(search.engine, set, search.reading, job.output, job.stop, job.ranks);
  if (!evaluation) throw_stopped();
  return *evaluation;
}

// Evaluates the model on labelled rows, on a retrieval set, or on both.
EvaluationResult evaluate_all(Job& job, FinishedModel& finished, const RetrievalSet* set) {
  if (set == nullptr) return evaluate_rows(job, finished, finished.sources().eval);
  if (finished.sources().eval.path.empty()) return evaluate_search(job, finished, *set);
  EvaluationResult rows = evaluate_rows(job, finished, finished.sources().eval);
  return with_retrieval(std::move(rows), evaluate_search(job, finished, *set));
}

// Evaluates the model once more in fp32, and writes both results to the log. `in_int8` is what
// evaluate_all() returned. Afterwards the model computes in fp32.
EvaluationResult tell_cost_of_int8(Job& job, FinishedModel& finished,
                                   const EvaluationResult& in_int8, const RetrievalSet* set) {
  finished.compute_in_fp32();
  const EvaluationResult in_fp32 = evaluate_all(job, finished, set);
  std::string scores;
  for (const auto& [name, value] : in_fp32.scores.metrics) {
    const auto found = in_int8.scores.metrics.find(name);
    if (found == in_int8.scores.metrics.end()) continue;
    scores += cat(name, " ", number_text("%.4f", found->second), " instead of ",
                  number_text("%.4f", value), ", ");
  }
  if (in_fp32.has_loss) {
    scores += cat("loss ", number_text("%.4f", in_int8.loss), " instead of ",
                  number_text("%.4f", in_fp32.loss), ", ");
  }
  log_info(cat("int8 compared with fp32 on ",
               counted(in_fp32.examples, in_fp32.has_loss ? "row" : "text"), ": ", scores,
               number_text("%.1f", in_int8.seconds), " s instead of ",
               number_text("%.1f", in_fp32.seconds), " s"));
  return in_fp32;
}

bool has_many_classes(const JobMetrics& metrics) {
  const size_t most = std::max(metrics.evaluation->scores.classes.size(),
                               metrics.evaluation->scores.confusion.size());
  return most > kMostShownClasses;
}

// The text for standard output. For many classes it is a summary, and evaluation.json in the job
// directory has everything. If there is no such directory, or the file cannot be written,
// everything is printed.
std::string printed(Job& job, const JobMetrics& metrics) {
  const std::string& directory = job.command_line.settings.output.job_dir;
  if (directory.empty() || !has_many_classes(metrics)) return to_json(metrics);
  const Uri details = JobDirectory(job.command_line.settings.output).evaluation();
  try {
    write_text(job.storage, details, to_json(metrics));
  } catch (const Error& error) {
    log_warning(cat("the scores of all classes are printed, because they could not be stored: ",
                    error.what()));
    return to_json(metrics);
  }
  log_info(cat("the scores of all classes and the confusion matrix are in ", details.to_string()));
  return to_summary_json(metrics, details.to_string());
}

}  // namespace

void run_evaluation(Job& job) {
  FinishedModel finished(job);
  const ModelConfig& config = finished.config();
  const std::unique_ptr<RetrievalSet> set =
      load_retrieval(job.storage, finished.settings(), config);
  const EvaluationResult evaluation = evaluate_all(job, finished, set.get());
  EvaluationReport report = report_of(evaluation);
  report.split = "eval";
  job.output.on(report);
  JobMetrics metrics{.result = std::nullopt,
                     .evaluation = evaluation,
                     .task = config.task,
                     .precision = finished.engine_info().precision,
                     .kernels = finished.engine_info().description};
  if (!finished.sources().mismatched.path.empty()) {
    metrics.mismatched = evaluate_rows(job, finished, finished.sources().mismatched);
  }
  if (metrics.precision == Precision::kInt8) {
    metrics.in_fp32 = tell_cost_of_int8(job, finished, evaluation, set.get());
  }
  job.output.on(JobFinished{});
  if (!job.leads()) return;
  StandardOutput standard_output;
  standard_output.write(as_bytes(printable_json(printed(job, metrics))));
  standard_output.close();
}

namespace {

// The predictions of all rows, and the model that makes them. Borrows all of them.
class Predictions {
 public:
  Predictions(const Job& job, FinishedModel& finished, Engine& engine, Dataset& data)
      : job_(job), finished_(finished), engine_(engine), data_(data) {}

  // Runs the model over the rows and writes their lines into every file. Closes no sink. The other
  // workers of the job do the same, without files.
  void write(std::initializer_list<PredictionFile> files) const {
    const int64_t batch_size = finished_.settings().training.examples_per_evaluation_batch();
    if (!write_predictions(engine_, data_, batch_size, files, job_.output, job_.stop, job_.ranks,
                           finished_.config().reranking.form)) {
      throw_stopped();
    }
  }

  std::unique_ptr<PredictionLines> lines() const {
    auto lines =
        make_prediction_lines(data_, finished_.config().labels,
                              prediction_rules(finished_.settings().data, finished_.config()));
    const bool with_text = job_.command_line.tool.predictions_with_text;
    if (with_text) lines = with_text_columns(std::move(lines), data_);
    lines = with_empty_rows(std::move(lines), data_);
    const bool is_safe = job_.command_line.tool.predictions_safe_for_spreadsheets;
    return is_safe ? with_spreadsheet_cells(std::move(lines)) : std::move(lines);
  }
  // The same in the format of run_classifier.py.
  std::unique_ptr<PredictionLines> test_results() const {
    return results_of(data_.task()).test_results();
  }

 private:
  const Job& job_;
  FinishedModel& finished_;
  Engine& engine_;
  Dataset& data_;
};

void write_to_standard_output(const Predictions& predictions) {
  StandardOutput output;
  const auto lines = predictions.lines();
  predictions.write({{*lines, output}});
  output.close();
}

void write_to_file(Job& job, const Uri& file, const Predictions& predictions) {
  store_results(job, file, [&](ByteSink& sink) {
    const auto lines = predictions.lines();
    predictions.write({{*lines, sink}});
  });
  job.progress.set_results(prediction_results(file));
}

// Writes predictions.tsv and test_results.tsv, the file of the tutorial, from one pass over the
// rows.
void write_with_test_results(Storage& storage, const JobDirectory& directory,
                             const Predictions& predictions) {
  store_object_once(storage, directory.test_results(), [&](ByteSink& result_sink) {
    store_object_once(storage, directory.predictions(), [&](ByteSink& sink) {
      const auto lines = predictions.lines();
      const auto results = predictions.test_results();
      predictions.write({{*lines, sink}, {*results, result_sink}});
    });
  });
}

// Whether the tutorial's program would also write test_results.tsv.
bool wants_test_results(Task task, const DataOptions& data) {
  const bool has_results = results_of(task).test_results != nullptr;
  return has_results && !data.input_meta_data_path.empty();
}

void require_predictions(Task task) {
  if (results_of(task).lines != nullptr) return;
  throw Error(Code::kUsage, "a masked language model has nothing to predict about a row", "--mode",
              "evaluate it with --mode eval, or fine-tune it for another task");
}

}  // namespace

void run_prediction(Job& job) {
  FinishedModel finished(job);
  const Settings& settings = finished.settings();
  const ModelConfig& config = finished.config();
  require_predictions(config.task);
  DataRequest request = finished.sources().predict;
  request.rules.keeps_missing_texts = true;
  const LoadedTable loaded = finished.load(request);
  const LabelledData rows(loaded, config.task, config.labels, /*wants_labels=*/false, settings,
                          finished.tokenizer());
  warn_of_tokens(loaded, config, settings, finished.tokenizer());
  Dataset data = rows.all_rows();
  const Predictions predictions(job, finished, finished.engine_for(loaded, data), data);
  const std::string& file = job.command_line.tool.predictions_file;
  if (!job.leads()) {
    predictions.write({});
  } else if (file == "-" || (file.empty() && settings.output.job_dir.empty())) {
    write_to_standard_output(predictions);
  } else if (!file.empty()) {
    write_to_file(job, Uri::parse(file), predictions);
  } else if (wants_test_results(config.task, settings.data)) {
    const JobDirectory directory(settings.output);
    write_with_test_results(job.storage, directory, predictions);
    job.progress.set_results(prediction_results(directory.predictions()));
  } else {
    write_to_file(job, JobDirectory(settings.output).predictions(), predictions);
  }
  job.output.on(JobFinished{});
  log_info("predicted " + counted(data.rows(), "row"));
  if (finished.engine_info().precision != Precision::kInt8) return;
  if (finished.sources().eval.path.empty()) {
    return log_info("--eval-data-file with labelled rows shows how much accuracy int8 costs");
  }
  tell_cost_of_int8(job, finished, evaluate_rows(job, finished, finished.sources().eval),
                    /*set=*/nullptr);
}

}  // namespace berth
