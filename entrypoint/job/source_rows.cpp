#include "entrypoint/job/source_rows.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "entrypoint/flags/similarity_rules.h"
#include "entrypoint/flags/train_sources.h"
#include "entrypoint/report/progress_lines.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// How the rows of a source are read: by its own loss.
DataRequest request_of(const TrainSource& source, const DataRequest& first, size_t number) {
  DataRequest request = first;
  request.role = cat("train_", number + 1);
  request.path = source.file;
  request.rules.columns = {};
  const bool needs_numbers = source.loss && learns_numbers(*source.loss);
  const bool has_none = source.loss && !needs_numbers;
  request.rules.task = has_none ? Task::kInBatchNegatives : Task::kSimilarity;
  request.rules.may_lack_labels = !source.loss;
  request.rules.text_scores =
      source.loss && learns_scores(*source.loss) ? LabelNeed::kRequired : LabelNeed::kIgnored;
  return request;
}

// The label of a row as its loss learns it.
float scaled_label(float label, double most, bool is_mark, const std::string& where) {
  const double scaled = double{label} / most;
  if (is_mark && scaled != 0 && scaled != 1) {
    throw Error(Code::kBadData, cat("the label ", label, " is neither 0 nor ", most), where,
                "contrastive losses take no others; loss=cosent or loss=cosine does");
  }
  if (std::abs(scaled) <= 1) return static_cast<float>(scaled);
  throw Error(Code::kBadData, cat("the similarity ", label, " is not from -", most, " to ", most),
              where, "say by max-similarity which label texts have that mean the same");
}

// Appends the rows of a table to `all`. Returns what the job knows of the source.
RowsOfSource append_source(const LoadedTable& loaded, const Settings& own, double weight,
                           ExampleTable& all) {
  const ExampleTable& table = *loaded.table;
  RowsOfSource source{.name = loaded.name,
                      .task = loaded.task,
                      .rows = {.rows = static_cast<int64_t>(table.rows()), .weight = weight}};
  source.objective = similarity_objective(own, loaded.task, /*has_scores=*/true);
  const SimilarityLoss loss = *source.objective.loss;
  for (uint32_t row = 0; row < table.rows(); ++row) {
    Example example = table.read(row);
    if (learns_numbers(loss)) {
      example.text_scores = {scaled_label(example.score, own.data.max_similarity,
                                          learns_marks(loss),
                                          cat(loaded.name, ": row ", table.source_row(row)))};
    }
    if (row == 0) source.texts = std::ssize(example.texts);
    all.append(example);
    all.add_key(example, example.texts.at(0), Task::kInBatchNegatives);
    all.set_source_row(table.source_row(row));
  }
  const bool lacks_negatives = learns_scores(loss) && source.texts < 3;
  const bool is_no_triplet = loss == SimilarityLoss::kTriplet && source.texts != 3;
  if (lacks_negatives || is_no_triplet) {
    throw Error(
        Code::kBadData,
        cat("the loss ", name_of(loss), " does not fit rows of ", counted(source.texts, "text")),
        loaded.name, "give the source another loss, or its rows other negatives");
  }
  return source;
}

void say_source(const RowsOfSource& source, size_t number, const LoadedTable& loaded) {
  const std::string columns = describe_columns(loaded.columns);
  log_info(cat(
      "source ", number, ": ", source.name, ", ",
      counted(static_cast<size_t>(source.rows.rows), "row"), ", ", columns, ", loss ",
      name_of(*source.objective.loss),
      source.rows.weight == 1 ? "" : cat(", weight ", number_text("%.4g", source.rows.weight))));
}

}  // namespace

void add_source_rows(const DataPaths& paths, const Settings& settings, const DataSources& sources,
                     TrainingRows& rows) {
  auto all = std::make_unique<ExampleTable>();
  all->name = rows.train.name;
  Settings first = settings;
  rows.sources.push_back(append_source(rows.train, first, /*weight=*/1, *all));
  say_source(rows.sources.back(), 1, rows.train);
  for (const TrainSource& source : train_sources(settings.data)) {
    const size_t number = rows.sources.size();
    const LoadedTable loaded = load_table(paths, request_of(source, sources.train, number));
    rows.sources.push_back(append_source(loaded, source.settings(settings), source.weight, *all));
    say_source(rows.sources.back(), number + 1, loaded);
    rows.train.sources.insert(rows.train.sources.end(), loaded.sources.begin(),
                              loaded.sources.end());
  }
  all->finish();
  rows.train.table = std::move(all);
  rows.train.task = rows.task = Task::kInBatchNegatives;
}

}  // namespace berth
