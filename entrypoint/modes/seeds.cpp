#include "entrypoint/modes/seeds.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "entrypoint/job/earlier_job.h"
#include "entrypoint/job/job_results.h"
#include "entrypoint/job/retrieval.h"
#include "entrypoint/modes/modes.h"
#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"
#include "trainer/inputs/job_directory.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

// The settings of a whole job with one seed, in directories of its own.
Settings settings_of_seed(const Settings& all, uint64_t seed) {
  Settings one = all;
  one.training.seed = seed;
  one.training.seeds = 1;
  one.output = output_of_seed(all.output, seed);
  const uint64_t first = all.training.seed;
  for (uint64_t earlier = first; earlier < seed; ++earlier) {
    const JobDirectory places(output_of_seed(all.output, earlier));
    one.training.earlier_seeds.push_back(
        {.checkpoints = places.checkpoints().url(), .model = places.model().url()});
  }
  one.training.later_seeds = all.training.seeds - 1 - static_cast<int64_t>(seed - first);
  return one;
}

// Trains with one seed unless that was done before. Returns the seed's job directory.
JobDirectory train_seed(Job& job, uint64_t seed) {
  CommandLine command_line = job.command_line;
  command_line.settings = settings_of_seed(job.command_line.settings, seed);
  const OutputOptions& output = command_line.settings.output;
  Job one = job.with(command_line);
  job.progress.set_step(0);
  job.progress.set_checkpoint("");
  log_info(cat("seed ", seed, ": ", output.job_dir));
  run_training(one);
  return JobDirectory(output);
}

// The command line of all seeds. All seeds read rows as the first seed that was begun. If no flag
// names a precision, they also use its precision. The reason: their scores become one mean.
CommandLine line_of_seeds(const Job& job) {
  CommandLine line = job.command_line;
  const TrainingOptions& options = line.settings.training;
  const uint64_t end = options.seed + static_cast<uint64_t>(options.seeds);
  for (uint64_t seed = options.seed; seed < end; ++seed) {
    const JobDirectory directory(output_of_seed(line.settings.output, seed));
    const std::optional<Precision> begun = precision_of_job(job.storage, directory);
    if (!begun) continue;
    if (!line.gives("precision")) line.settings.precision = *begun;
    return with_reading_of_job(job.storage, directory, std::move(line));
  }
  return line;
}

std::string metrics_of_seed(Job& job, uint64_t seed) {
  const Uri metrics = train_seed(job, seed).metrics();
  const std::optional<std::string> text = read_text(job.storage, metrics);
  if (!text)
    throw Error(Code::kNotFound, "the seed has left no metrics", metrics.to_string(),
                "start the job again");
  return *text;
}

void say(const std::string& metric, const Spread& spread) {
  log_info(cat(metric, " over ", spread.values.size(),
               formatted(" seeds: mean %.4f, standard deviation %.4f", spread.mean, spread.std)));
}

// Lets the last lines name the seed with the best evaluation, by the metric that decides which
// model is the best. Without evaluations it is the first seed.
void name_best_seed(Job& job, uint64_t first, const std::map<std::string, Spread>& result) {
  CommandLine one = job.command_line;
  one.settings = settings_of_seed(job.command_line.settings, first);
  const auto earlier = EarlierJob::find(job.storage, JobDirectory(one.settings.output).root());
  if (!earlier) return;
  const auto classes = static_cast<int64_t>(earlier->labels().size());
  const bool searches = !job.command_line.settings.data.eval_retrieval.empty();
  const std::vector<std::string> names =
      evaluated_metrics(earlier->task(), classes, /*has_rows=*/true, searches);
  std::string metric = job.command_line.settings.training.metric_for_best_model;
  metric =
      metric.empty() ? names.front() : checked_metric(metric, names, "--metric-for-best-model");
  if (const auto found = result.find(metric); found != result.end()) {
    const std::vector<double>& values = found->second.values;
    const auto best = is_error_metric(metric) ? std::ranges::min_element(values)
                                              : std::ranges::max_element(values);
    const uint64_t seed = first + static_cast<uint64_t>(best - values.begin());
    log_info(cat("the best of these seeds by ", metric, " is ", seed));
    one.settings = settings_of_seed(job.command_line.settings, seed);
  }
  job.progress.set_results(
      training_results(one, job.storage, JobDirectory(one.settings.output), earlier->task()));
}

}  // namespace

void run_seeds(Job& asked) {
  const CommandLine line = line_of_seeds(asked);
  Job job = asked.with(line);
  const TrainingOptions& options = line.settings.training;
  if (job.command_line.dry_run) {  // every seed needs the same memory and updates
    train_seed(job, options.seed);
    return;
  }
  const JobDirectory directory(job.command_line.settings.output);
  if (job.storage.stat(directory.record())) {
    throw Error(Code::kIncompatible, "the job directory belongs to a job of one seed",
                directory.root().to_string(), "use another --job-dir");
  }
  const uint64_t first = options.seed, end = first + static_cast<uint64_t>(options.seeds);
  std::vector<std::string> metrics;
  for (uint64_t seed = first; seed < end; ++seed) {
    job.stop_point();
    metrics.push_back(metrics_of_seed(job, seed));
  }
  const std::map<std::string, Spread> result = spreads(metrics);
  for (const auto& [metric, spread] : result) say(metric, spread);
  write_text(job.storage, directory.metrics(), seeds_json(static_cast<int64_t>(first), result));
  name_best_seed(job, first, result);
}

namespace {

// Whether a seed can change the number. The number of rows and the share of the most frequent class
// belong to the data.
bool is_metric(const std::string& name) { return name != "examples" && name != "majority_rate"; }

void collect(const Json& evaluation, const std::string& suffix,
             std::map<std::string, std::vector<double>>& values) {
  for (const auto& [name, value] : evaluation.items()) {
    if (value.is_number() && is_metric(name)) values[name + suffix].push_back(value.get<double>());
  }
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.mean = mean, .std = std::sqrt(squares / (count - 1)), .values = std::move(values)};
}

std::map<std::string, Spread> spreads(const std::vector<std::string>& metrics_json) {
  std::map<std::string, std::vector<double>> values;
  for (const std::string& text : metrics_json) {
    const Json metrics = parse_json(text);
    if (!metrics.is_object()) throw Error(Code::kCorrupt, "a seed's metrics.json is not an object");
    for (const auto& [part, suffix] : {std::pair("eval", ""), std::pair("eval_mm", "_mm")}) {
      if (metrics.contains(part)) collect(metrics.at(part), suffix, values);
    }
  }
  std::map<std::string, Spread> result;
  for (auto& [name, of_seeds] : values) {
    if (of_seeds.size() == metrics_json.size()) result[name] = spread_of(std::move(of_seeds));
  }
  return result;
}

std::string seeds_json(int64_t first_seed, const std::map<std::string, Spread>& spreads) {
  OrderedJson metrics = OrderedJson::object();
  for (const auto& [name, spread] : spreads) {
    metrics[name] = {{"mean", spread.mean}, {"std", spread.std}, {"values", spread.values}};
  }
  return to_text(OrderedJson{{"first_seed", first_seed}, {"seeds", metrics}, {"finished", true}},
                 2) +
         "\n";
}

}  // namespace berth
