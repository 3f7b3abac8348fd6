#include "entrypoint/report/html/compare_page.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "entrypoint/report/html/page.h"
#include "entrypoint/report/html/plots.h"
#include "entrypoint/report/html/training_curves.h"
#include "storage/base/text.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

using Value = std::function<std::optional<double>(const ComparedJob&)>;

// The letter or number by which plots and tables call a job: A, B, ... and then 27, 28, ...
std::string short_name(size_t job) {
  constexpr size_t kLetters = 26;
  if (job < kLetters) return std::string(1, static_cast<char>('A' + job));
  return std::to_string(job + 1);
}

// The names of the metrics of all jobs, the one first by which most choose their best model.
std::vector<std::string> metric_names_of(const std::vector<ComparedJob>& jobs) {
  std::set<std::string> names;
  for (const ComparedJob& job : jobs) {
    if (!job.metrics) continue;
    for (const auto& [name, value] : *job.metrics) names.insert(name);
  }
  std::vector<std::string> sorted(names.begin(), names.end());
  std::stable_partition(sorted.begin(), sorted.end(), [&](const std::string& name) {
    return std::ranges::any_of(jobs, [&](const auto& job) { return job.history.metric == name; });
  });
  return sorted;
}

// A column of the table of results, whose best value is marked.
struct Column {
  std::string name;
  Value value;
  bool lower_is_better = false, is_score = true;
};

std::vector<Column> columns_of(const std::vector<ComparedJob>& jobs) {
  std::vector<Column> columns;
  for (const std::string& name : metric_names_of(jobs)) {
    columns.push_back({name,
                       [name](const ComparedJob& job) -> std::optional<double> {
                         if (!job.metrics || !job.metrics->contains(name)) return std::nullopt;
                         return job.metrics->at(name);
                       },
                       is_error_metric(name)});
  }
  columns.push_back({"evaluation loss", [](const ComparedJob& job) { return job.loss; }, true});
  columns.push_back(
      {"examples/s", [](const ComparedJob& job) { return job.examples_per_second; }, false, false});
  return columns;
}

std::optional<double> best_of(const std::vector<ComparedJob>& jobs, const Column& column) {
  std::optional<double> best;
  for (const ComparedJob& job : jobs) {
    const std::optional<double> value = column.value(job);
    if (!value || !std::isfinite(*value)) continue;
    if (!best || (column.lower_is_better ? *value < *best : *value > *best)) best = value;
  }
  return best;
}

// Whether the jobs that have scores were scored on the same rows.
bool have_same_rows(const std::vector<ComparedJob>& jobs) {
  std::set<std::string> rows;
  for (const ComparedJob& job : jobs) {
    if (job.metrics && (job.loss || !job.metrics->empty())) rows.insert(job.evaluation_data);
  }
  return rows.size() < 2;
}

std::string result_table(const std::vector<ComparedJob>& jobs) {
  const std::vector<Column> columns = columns_of(jobs);
  const bool are_comparable = have_same_rows(jobs);
  std::string out =
      "<table><caption>Results at the end. The best of each column is in bold and has a "
      "star.</caption><thead><tr><th scope=\"col\">job</th><th scope=\"col\">state</th>";
  for (const Column& column : columns) {
    out += cat("<th scope=\"col\">", isolated(column.name, 60), "</th>");
  }
  out += "<th scope=\"col\">updates</th><th scope=\"col\">duration</th></tr></thead><tbody>\n";
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ComparedJob& job = jobs[i];
    out += cat("<tr><th scope=\"row\">", short_name(i), " ", isolated(job.name), "</th><td>",
               job.metrics ? "finished" : "not finished", "</td>");
    for (const Column& column : columns) {
      const std::optional<double> value = column.value(job);
      const bool is_best = jobs.size() > 1 && value && (are_comparable || !column.is_score) &&
                           value == best_of(jobs, column);
      out += cat("<td>", is_best ? "<strong>" : "", value ? score_text(*value) : "–",
                 is_best ? " ★</strong>" : "", "</td>");
    }
    const auto& buckets = job.history.curve.buckets();
    out += cat("<td>", buckets.empty() ? "–" : whole_number(buckets.back().last), "</td><td>",
               job.history.attempts.empty() ? "–" : span_of_time(job.history.seconds()),
               "</td></tr>\n");
  }
  out = scrolling("Results of the jobs", out + "</tbody></table>");
  if (are_comparable) return out;
  return out +
         "<p class=\"note\">The jobs were evaluated on different rows. Their scores are not "
         "compared, and have no star.</p>\n";
}

// A plot with a line for each job that has the values.
std::string overlaid(const std::vector<ComparedJob>& jobs, const std::string& title, bool has_dots,
                     const std::function<std::vector<PlotPoint>(const JobHistory&)>& points) {
  LinePlot plot{.title = title, .begins_at_zero = !has_dots};
  for (size_t i = 0; i < jobs.size(); ++i) {
    PlotSeries series{.name = cat(short_name(i), " ", jobs[i].name),
                      .colour = static_cast<int>(i),
                      .mark = short_name(i),
                      .has_dots = has_dots,
                      .points = points(jobs[i].history)};
    if (!series.points.empty()) plot.series.push_back(std::move(series));
  }
  return figure(plot);
}

std::string curves(const std::vector<ComparedJob>& jobs) {
  std::string out = overlaid(jobs, "Training loss, smoothed", false, [](const JobHistory& history) {
    return smoothed_loss(history.curve);
  });
  std::set<std::string> names = {"loss"};
  for (const ComparedJob& job : jobs) {
    for (const auto& evaluation : job.history.evaluations) {
      for (const auto& [name, value] : evaluation.metrics) names.insert(name);
    }
  }
  for (const std::string& name : names) {
    out += overlaid(jobs, name == "loss" ? "Evaluation loss" : name, true,
                    [&](const JobHistory& history) { return evaluation_points(history, name); });
  }
  std::set<ProbeScore> probes;
  for (const ComparedJob& job : jobs) probes.merge(probe_scores(job.history));
  for (const ProbeScore& score : probes) {
    out += overlaid(jobs, cat("Probe ", score.first, ", ", score.second), true,
                    [&](const JobHistory& history) { return probe_points(history, score); });
  }
  out += overlaid(jobs, "Learning rate", false, [](const JobHistory& history) {
    std::vector<PlotPoint> points;
    for (const StepBucket& bucket : history.curve.buckets()) {
      points.push_back({static_cast<double>(bucket.last), bucket.learning_rate});
    }
    return points;
  });
  out += overlaid(jobs, "Tokens/s in training steps", false,
                  [](const JobHistory& history) { return throughput(history.curve); });
  return out.empty() ? out : cat("<div class=\"plots\">\n", out, "</div>\n");
}

// Rows are settings, columns are jobs. Only rows whose values differ are shown.
std::string differences(const std::vector<ComparedJob>& jobs) {
  using Row = std::pair<std::string, std::vector<std::string>>;
  std::vector<Row> rows;
  const auto row = [&rows, &jobs](const std::string& name) -> std::vector<std::string>& {
    const auto found = std::ranges::find(rows, name, &Row::first);
    if (found != rows.end()) return found->second;
    return rows.emplace_back(name, std::vector<std::string>(jobs.size())).second;
  };
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ComparedJob& job = jobs[i];
    for (const Setting& setting : job.settings) row("--" + setting.name)[i] = setting.value;
    row("task")[i] = job.task;
    row("training data (CRC-32C)")[i] = job.training_data;
    row("evaluation data (CRC-32C)")[i] = job.evaluation_data;
    row("version")[i] = job.version;
    row("machine")[i] = job.machine;
  }
  std::string out;
  for (const auto& [name, values] : rows) {
    if (std::ranges::adjacent_find(values, std::not_equal_to()) == values.end()) continue;
    out += cat("<tr><th scope=\"row\">", isolated(name, 80), "</th>");
    for (const std::string& value : values) {
      out += cat("<td>", value.empty() ? "–" : isolated(value), "</td>");
    }
    out += "</tr>\n";
  }
  if (out.empty()) return "<p>They have the same settings.</p>\n";
  std::string head = "<th scope=\"col\">setting</th>";
  for (size_t i = 0; i < jobs.size(); ++i) {
    head += cat("<th scope=\"col\">", short_name(i), " ", isolated(jobs[i].name, 80), "</th>");
  }
  return scrolling("Settings that differ", cat("<table class=\"words\"><thead><tr>", head,
                                               "</tr></thead><tbody>\n", out, "</tbody></table>"));
}

}  // namespace

std::string compare_page(const std::vector<ComparedJob>& jobs, double written_s) {
  const std::string title = counted(static_cast<int64_t>(jobs.size()), "job") + " compared";
  std::string note;
  for (const ComparedJob& job : jobs) {
    if (!job.history.curve.buckets().empty()) continue;
    note += cat("<p class=\"note\">", isolated(job.name),
                " has no report.html with curves; its results are in the table.</p>\n");
  }
  return html_page(title + " – berth",
                   cat("<header>\n<h1>", title, "</h1>\n<p class=\"sub\">", moment_text(written_s),
                       "</p>\n</header>\n<main>\n", section("Results", result_table(jobs)),
                       section("Curves", curves(jobs) + note),
                       section("Settings that differ", differences(jobs)), "</main>\n"));
}

}  // namespace berth
