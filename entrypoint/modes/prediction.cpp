#include "entrypoint/modes/prediction.h"

#include <initializer_list>
#include <memory>

#include "entrypoint/job/finished_model.h"
#include "entrypoint/job/job_results.h"
#include "entrypoint/job/labelled_data.h"
#include "entrypoint/job/token_survey.h"
#include "entrypoint/modes/labelled_evaluation.h"
#include "entrypoint/modes/shared_inference.h"
#include "entrypoint/report/standard_output.h"
#include "storage/base/counted.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/store_object.h"
#include "trainer/loop/job_directory.h"
#include "trainer/loop/predict.h"
#include "trainer/tasks/empty_rows.h"
#include "trainer/tasks/spreadsheet_cells.h"
#include "trainer/tasks/task_results.h"
#include "trainer/tasks/text_columns.h"

namespace berth {
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
    if (!write_predictions(engine_, data_, batch_size, files, job_.output, job_.stop, job_.ranks)) {
      throw_stopped();
    }
  }

  std::unique_ptr<PredictionLines> lines() const {
    auto lines = make_prediction_lines(data_, finished_.config().labels,
                                       answer_options(finished_.settings().data));
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
  job.output.on_finish();
  log_info("predicted " + counted(data.rows(), "row"));
  if (finished.engine_info().precision != Precision::kInt8) return;
  if (finished.sources().eval.path.empty()) {
    return log_info("--eval-data-file with labelled rows shows how much accuracy int8 costs");
  }
  tell_cost_of_int8(job, finished, evaluate_rows(job, finished, finished.sources().eval));
}

}  // namespace berth
