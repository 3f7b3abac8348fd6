#include "entrypoint/report/html/job_page.h"

#include <algorithm>
#include <cmath>

#include "entrypoint/report/html/page.h"
#include "entrypoint/report/html/plots.h"
#include "entrypoint/report/html/training_curves.h"
#include "storage/base/checksum.h"
#include "storage/base/text.h"
#include "trainer/metrics/retrieval.h"

namespace berth {
namespace {

std::string value_of(const JobFacts& facts, std::string_view name) {
  for (const Setting& setting : facts.record.settings) {
    if (setting.name == name) return setting.value;
  }
  return "";
}

std::string fact(const std::string& name, const std::string& value, const std::string& below,
                 bool is_main = false) {
  return cat("<div", is_main ? " class=\"main\"" : "", "><dt>", name, "</dt><dd>", value,
             below.empty() ? "" : cat("<small>", below, "</small>"), "</dd></div>\n");
}

const char* state_class(JobOutcome::State state) {
  switch (state) {
    case JobOutcome::State::kRunning:
      return "running";
    case JobOutcome::State::kFinished:
      return "finished";
    case JobOutcome::State::kStopped:
      return "stopped";
    case JobOutcome::State::kFailed:
      break;
  }
  return "failed";
}

std::string state_text(const JobPage& page) {
  const StepCurve& curve = page.history.curve;
  const int64_t done =
      curve.buckets().empty() ? page.facts.plan.first_step : curve.buckets().back().last;
  const std::string updates =
      cat(whole_number(done), " of ", whole_number(page.facts.plan.total_steps));
  switch (page.outcome.state) {
    case JobOutcome::State::kRunning:
      return cat("Training, update ", updates);
    case JobOutcome::State::kFinished:
      return "Finished, exit code 0";
    case JobOutcome::State::kStopped:
      return cat("Stopped at update ", updates, ", exit code ", page.outcome.code);
    case JobOutcome::State::kFailed:
      break;
  }
  return cat("Failed at update ", updates, ", exit code ", page.outcome.code);
}

// The score of a model that learnt nothing.
std::string baseline_text(const TaskScores& scores, const std::string& metric) {
  if (metric.find("_at_") != std::string::npos) return html_text(scores.note);
  if (metric == "accuracy" && scores.majority_rate) {
    return cat("majority class ", score_text(*scores.majority_rate));
  }
  if (metric == "mse" && scores.details.mean_squared_error) {
    return cat("always the mean ", rounded_text(*scores.details.mean_squared_error));
  }
  return "";
}

// Whether a retrieval set was evaluated, whose metrics are then the main ones.
bool is_of_search(const TaskScores& scores) {
  return scores.metrics.contains(RetrievalMetrics::names().front());
}

std::string evaluated_on(const JobPage& page) {
  const ShownEvaluation& evaluation = *page.evaluation;
  if (is_of_search(evaluation.scores)) {
    return evaluation.is_of_result ? "" : cat("update ", whole_number(evaluation.step));
  }
  return cat(whole_number(evaluation.examples),
             page.facts.eval_split == "eval" ? " examples" : " held-out examples",
             evaluation.is_of_result ? "" : cat(", update ", whole_number(evaluation.step)));
}

// "mean of the last 40 updates"
std::string updates_of(const RecentLoss& recent) {
  if (recent.updates == 1) return "of one update";
  return cat("mean of the last ", whole_number(recent.updates), " updates");
}

// "training 0.25, mean of the last 40 updates"; empty before the first update.
std::string training_loss(const JobHistory& history) {
  if (history.curve.buckets().empty()) return "";
  const RecentLoss recent = recent_loss(history.curve);
  return cat("training ", score_text(recent.loss), ", ", updates_of(recent));
}

// The main metric first, and every other one beside it.
std::string metric_facts(const JobPage& page) {
  if (!page.evaluation) return "";
  const ShownEvaluation& evaluation = *page.evaluation;
  const TaskScores& scores = evaluation.scores;
  const std::string& main = page.history.metric;
  std::string out;
  if (scores.metrics.contains(main)) {
    const std::string baseline = baseline_text(scores, main);
    const std::string on = evaluated_on(page);
    out += fact(html_text(main), score_text(scores.metrics.at(main)),
                cat(baseline, baseline.empty() || on.empty() ? "" : ", ", on), true);
  }
  for (const auto& [name, value] : scores.metrics) {
    if (name != main) out += fact(html_text(name), score_text(value), baseline_text(scores, name));
  }
  const std::string on = scores.metrics.contains(main) ? "" : evaluated_on(page);
  const std::string training = training_loss(page.history);
  if (std::isnan(evaluation.loss)) return out;  // a search alone has none
  return out + fact("evaluation loss", score_text(evaluation.loss),
                    on.empty() || training.empty() ? on + training : cat(training, "; ", on));
}

std::string training_facts(const JobPage& page) {
  const JobHistory& history = page.history;
  std::string out;
  if (!history.curve.buckets().empty()) {
    if (!page.evaluation || std::isnan(page.evaluation->loss)) {
      const RecentLoss recent = recent_loss(history.curve);
      out += fact("training loss", score_text(recent.loss), updates_of(recent));
    }
    double tokens = 0, examples = 0, seconds = 0;
    for (const StepBucket& bucket : history.curve.buckets()) {
      tokens += bucket.tokens;
      examples += bucket.examples;
      seconds += bucket.seconds;
    }
    if (seconds > 0) {
      out += fact("examples/s", rounded_text(examples / seconds, 3),
                  cat(rounded_text(tokens / seconds, 4), " tokens/s"));
    }
  }
  const size_t attempts = history.attempts.size();
  const std::string processes =
      attempts > 1 ? cat(whole_number(static_cast<int64_t>(attempts)), " processes") : "";
  out += fact("duration", span_of_time(history.seconds()), processes);
  return out + fact("updates", whole_number(page.facts.plan.total_steps),
                    cat(rounded_text(page.facts.plan.epochs, 3), " epochs"));
}

std::string model_name(const JobFacts& facts) {
  const std::string given = value_of(facts, "model");
  return given.empty() ? "bundled model" : given;
}

std::string data_name(const JobFacts& facts) {
  const std::string file = value_of(facts, "train-data-file");
  if (!file.empty()) return file;
  const std::string directory = value_of(facts, "data-dir");
  return directory.empty() ? "–" : directory;
}

// Its parts, as markup.
std::string headline(const JobPage& page) {
  const JobFacts& facts = page.facts;
  std::string out =
      cat("<header>\n<h1>", isolated(facts.name), "</h1>\n<p class=\"sub\">",
          isolated(traits(facts.task).card_title), " · model ", isolated(model_name(facts)),
          " · data ", isolated(data_name(facts)), "</p>\n<p><span class=\"state ",
          state_class(page.outcome.state), "\">", html_text(state_text(page)), "</span></p>\n");
  if (!page.outcome.sentence.empty()) {
    out += cat("<p>", isolated(page.outcome.sentence, 1000), "</p>\n");
  }
  if (page.outcome.state == JobOutcome::State::kRunning) {
    out += cat("<p class=\"note\">As of ", moment_text(page.written_s),
               ". The job replaces this page at each evaluation and at its end.</p>\n");
  }
  return out + cat("<dl class=\"facts\">\n", metric_facts(page), training_facts(page),
                   "</dl>\n</header>\n");
}

constexpr size_t kMostSources = 200;

std::string row_of(const std::string& name, const std::string& value) {
  return cat("<tr><th scope=\"row\">", name, "</th><td>", value, "</td></tr>\n");
}

std::string source_table(const std::vector<Source>& sources) {
  if (sources.empty()) return "";
  std::string out =
      "<table class=\"words stack\"><caption>Files that were read. The checksum is CRC-32C of the "
      "bytes "
      "as stored.</caption><thead><tr><th scope=\"col\">used as</th><th scope=\"col\">file</th><th "
      "scope=\"col\" class=\"num\">bytes</th><th scope=\"col\">checksum</th></tr></thead><tbody>\n";
  for (size_t i = 0; i < std::min(sources.size(), kMostSources); ++i) {
    const Source& source = sources[i];
    out += cat("<tr><td data-name=\"used as\">", isolated(source.role),
               "</td><td class=\"long\" data-name=\"file\">", isolated(source.uri),
               "</td><td class=\"num\" data-name=\"bytes\">",
               whole_number(static_cast<int64_t>(source.checksum.size)),
               "</td><td data-name=\"checksum\"><code>", crc_text(source.checksum.crc),
               "</code></td></tr>\n");
  }
  out += "</tbody></table>";
  std::string note;
  if (sources.size() > kMostSources) {
    note = cat("<p class=\"note\">The first ", kMostSources, " of ",
               whole_number(static_cast<int64_t>(sources.size())), "; job.json has all.</p>\n");
  }
  return scrolling("Files that were read", out) + note;
}

std::string preview_table(const std::vector<ShownRow>& rows) {
  constexpr size_t kLimit = 1000;
  if (rows.empty()) return "";
  std::string out =
      "<table class=\"words stack\"><caption>The first rows to train on, as the model takes them."
      "</caption><thead><tr><th scope=\"col\" class=\"num\">row</th><th scope=\"col\">text</th><th "
      "scope=\"col\">tokens</th><th scope=\"col\">label</th><th "
      "scope=\"col\">cut</th></tr></thead><tbody>\n";
  for (const ShownRow& row : rows) {
    const std::string texts =
        joined(row.texts, "<br/>", [](const std::string& text) { return isolated(text, kLimit); });
    out +=
        cat("<tr><td class=\"num\" data-name=\"row\">", whole_number(static_cast<int64_t>(row.row)),
            "</td><td class=\"long\" data-name=\"text\">", texts.empty() ? "–" : texts,
            "</td><td class=\"long\" data-name=\"tokens\">", isolated(row.tokens, kLimit), " (",
            whole_number(row.token_count), ")</td><td class=\"long\" data-name=\"label\">",
            isolated(row.label, kLimit), "</td><td data-name=\"cut\">",
            row.cut.empty() ? "–" : isolated(row.cut), "</td></tr>\n");
  }
  return scrolling("The first rows to train on", out + "</tbody></table>");
}

std::string length_figure(const TokenLengths& found) {
  Histogram histogram = histogram_of(found.lengths, /*least_width=*/1);
  histogram.title = found.are_windows ? "Tokens of each sequence" : "Tokens of each text";
  histogram.x_name = "tokens, with special tokens";
  const auto limit = static_cast<double>(found.max_seq_length);
  const auto longer =
      std::ranges::count_if(found.lengths, [limit](double length) { return length > limit; });
  const auto full =
      std::ranges::count_if(found.lengths, [limit](double length) { return length >= limit; });
  const auto all = static_cast<double>(std::max<size_t>(1, found.lengths.size()));
  if (longer > 0 || full > 0) {
    histogram.line = limit;
    histogram.line_name = found.are_windows
                              ? cat("--max-seq-length ", found.max_seq_length, ", reached by ",
                                    percent_text(static_cast<double>(full) / all))
                              : cat("--max-seq-length ", found.max_seq_length, ", which cuts ",
                                    percent_text(static_cast<double>(longer) / all));
  }
  const std::string drawn = figure(histogram);
  if (drawn.empty()) return "";
  const auto seen = static_cast<int64_t>(found.lengths.size());
  return cat("<div class=\"plots\">", drawn, "</div>\n<p class=\"note\">", whole_number(seen),
             found.texts > seen ? cat(", evenly spaced, of ", whole_number(found.texts)) : "",
             found.are_windows ? " sequences of the data to train on." : " texts to train on.",
             " Longer texts ", found.are_windows ? "become several sequences" : "are cut", " at ",
             whole_number(found.max_seq_length), " tokens.</p>\n");
}

std::string data_section(const JobFacts& facts) {
  std::string rows = row_of("to train on", whole_number(facts.plan.train_examples));
  if (facts.plan.eval_examples > 0) {
    rows += row_of(facts.eval_split == "eval" ? "to evaluate on" : "held out to evaluate on",
                   whole_number(facts.plan.eval_examples));
  }
  if (traits(facts.task).has_classes && facts.plan.num_labels > 0) {
    rows += row_of(traits(facts.task).labels == LabelKind::kTagPerWord ? "tags" : "classes",
                   whole_number(facts.plan.num_labels));
  }
  std::string out = cat("<table><caption>Examples</caption><tbody>\n", rows, "</tbody></table>\n");
  out += preview_table(facts.plan.rows);
  if (facts.lengths) out += length_figure(*facts.lengths);
  return section("Data", out + source_table(facts.record.sources));
}

std::string settings_section(const JobFacts& facts) {
  std::string changed, others;
  for (const Setting& setting : facts.record.settings) {
    const std::string &name = setting.name, &value = setting.value;
    const auto preset = std::ranges::find(facts.defaults, name, &Setting::name);
    const bool is_default = preset != facts.defaults.end() && preset->value == value;
    const std::string row =
        cat("<tr", is_default ? "" : " class=\"changed\"", "><th scope=\"row\">--", html_text(name),
            "</th><td>", value.empty() ? "–" : isolated(value, 1000), "</td></tr>\n");
    (is_default ? others : changed) += row;
  }
  const auto table = [](const char* name, const std::string& rows) {
    return scrolling(name, cat("<table class=\"settings words\"><caption>", name,
                               "</caption><tbody>\n", rows, "</tbody></table>"));
  };
  std::string out;
  if (!changed.empty()) out += table("Settings that differ from the defaults", changed);
  if (!others.empty()) {
    out += cat("<details><summary>Settings at their defaults</summary>",
               table("Settings at their defaults", others), "</details>\n");
  }
  const std::string machine = row_of("machine", isolated(facts.record.machine)) +
                              row_of("kernels", isolated(facts.record.kernels)) +
                              row_of("parameters", whole_number(facts.plan.parameters)) +
                              row_of("version", isolated(facts.record.version));
  out += cat("<table class=\"settings words\"><caption>Machine and model</caption><tbody>\n",
             machine, "</tbody></table>\n");
  return section("Settings", out);
}

constexpr size_t kMostMatrixClasses = 30;
constexpr size_t kMostClassRows = 200;
constexpr size_t kMistakesAtOnce = 12;

std::string class_table(const std::vector<ClassScore>& classes, const char* kind) {
  if (classes.empty()) return "";
  std::string out = cat("<table><caption>Precision, recall and F1 of each ", kind,
                        "</caption><thead><tr><th scope=\"col\">", kind,
                        "</th><th scope=\"col\">precision</th><th scope=\"col\">recall</th><th "
                        "scope=\"col\">F1</th><th scope=\"col\">support</th></tr></thead><tbody>");
  for (size_t i = 0; i < std::min(classes.size(), kMostClassRows); ++i) {
    const ClassScore& one = classes[i];
    out += cat("<tr><th scope=\"row\">", isolated(one.name, 80), "</th><td>",
               score_text(one.precision), "</td><td>", score_text(one.recall), "</td><td>",
               score_text(one.f1), "</td><td>", whole_number(one.support), "</td></tr>");
  }
  out += "</tbody></table>";
  std::string note;
  if (classes.size() > kMostClassRows) {
    note = cat("<p class=\"note\">The first ", kMostClassRows, " of ",
               whole_number(static_cast<int64_t>(classes.size())), "; metrics.json has all.</p>\n");
  }
  return scrolling(cat("Scores of each ", kind), out) + note;
}

// Shades a cell by its share of the row.
std::string matrix_cell(int64_t count, int64_t row_sum, bool is_right) {
  if (count == 0) return "<td>0</td>";
  const std::string shade =
      formatted("%.2f", static_cast<double>(count) / static_cast<double>(row_sum));
  return cat("<td class=\"", is_right ? "right" : "wrong", "\" style=\"--a:", shade, "\">",
             whole_number(count), "</td>");
}

std::string confusion_matrix(const TaskScores& scores) {
  const auto& counts = scores.confusion;
  std::string out =
      "<table class=\"matrix\"><caption>Rows: the true class. Columns: the predicted one. Shaded "
      "by the share of the row.</caption><thead><tr><td></td>";
  for (const ClassScore& one : scores.classes) {
    out += cat("<th scope=\"col\">", isolated(one.name, 40), "</th>");
  }
  out += "</tr></thead><tbody>";
  for (size_t truth = 0; truth < counts.size(); ++truth) {
    int64_t sum = 0;
    for (const int64_t count : counts[truth]) sum += count;
    out += cat("<tr><th scope=\"row\">", isolated(scores.classes[truth].name, 40), "</th>");
    for (size_t guess = 0; guess < counts.size(); ++guess) {
      out += matrix_cell(counts[truth][guess], sum, truth == guess);
    }
    out += "</tr>";
  }
  return scrolling("Confusion matrix", out + "</tbody></table>");
}

// If there are many classes, the pairs that the model confuses most often.
std::string confused_pairs(const TaskScores& scores) {
  constexpr size_t kMost = 20;
  struct Pair {
    int64_t count;
    size_t truth, guess;
  };
  std::vector<Pair> pairs;
  for (size_t truth = 0; truth < scores.confusion.size(); ++truth) {
    for (size_t guess = 0; guess < scores.confusion.size(); ++guess) {
      const int64_t count = scores.confusion[truth][guess];
      if (truth != guess && count > 0) pairs.push_back({count, truth, guess});
    }
  }
  std::ranges::stable_sort(pairs, std::greater(), &Pair::count);
  pairs.resize(std::min(pairs.size(), kMost));
  if (pairs.empty()) return "";
  std::string out =
      "<table><caption>The classes that are taken for others most often</caption><thead><tr><th "
      "scope=\"col\">true</th><th scope=\"col\">predicted</th><th "
      "scope=\"col\">how often</th></tr></thead><tbody>";
  for (const Pair& pair : pairs) {
    out += cat("<tr><th scope=\"row\">", isolated(scores.classes[pair.truth].name, 80), "</th><td>",
               isolated(scores.classes[pair.guess].name, 80), "</td><td>", whole_number(pair.count),
               "</td></tr>");
  }
  return scrolling("Confused classes", out + "</tbody></table>");
}

std::string confusion(const TaskScores& scores) {
  if (scores.confusion.empty() || scores.classes.size() != scores.confusion.size()) return "";
  if (scores.confusion.size() > kMostMatrixClasses) return confused_pairs(scores);
  return confusion_matrix(scores);
}

std::string texts_of(const Mistake& mistake) {
  const std::string out =
      joined(mistake.texts, "<br/>", [](const std::string& text) { return isolated(text); });
  return out.empty() ? "–" : out;
}

// A passage with its id above it.
std::string passage(const std::string& id, const std::string& text) {
  if (id.empty()) return "–";
  return cat("<small>", isolated(id, 80), "</small><br/>", isolated(text));
}

struct MistakeNames {
  const char *heading, *badness, *row;
};

std::string mistake_rows(const std::vector<Mistake>& mistakes, size_t begin, size_t end,
                         const MistakeNames& names) {
  std::string out =
      cat("<table class=\"words stack\"><thead><tr><th scope=\"col\" class=\"num\">", names.badness,
          "</th><th scope=\"col\">true</th><th scope=\"col\">predicted</th><th scope=\"col\">row"
          "</th><th scope=\"col\">",
          names.row, "</th></tr></thead><tbody>");
  for (size_t i = begin; i < end; ++i) {
    const Mistake& mistake = mistakes[i];
    out += cat("<tr><td class=\"num\" data-name=\"", names.badness, "\">",
               score_text(mistake.badness), "</td><td data-name=\"true\">",
               isolated(mistake.truth, 120), "</td><td data-name=\"predicted\">",
               isolated(mistake.prediction, 120), "</td><td data-name=\"row\">",
               isolated(mistake.id, 60), "</td><td class=\"long\" data-name=\"", names.row, "\">",
               texts_of(mistake), "</td></tr>");
  }
  return out + "</tbody></table>\n";
}

MistakeNames mistake_names(Task task) {
  switch (traits(task).labels) {
    case LabelKind::kNumber:
      return {"Largest errors", "distance", "text"};
    case LabelKind::kTagPerWord:
      return {"Most confident mistakes", "probability", "word in its sentence"};
    case LabelKind::kSet:
      return {"Most confident mistakes", "surest wrong label", "text"};
    case LabelKind::kSpan:
      return {"Most confident mistakes", "probability", "question and context"};
    default:
      return {"Most confident mistakes", "probability", "text"};
  }
}

std::string mistake_table(const std::vector<Mistake>& mistakes, Task task) {
  if (mistakes.empty()) return "";
  const MistakeNames names = mistake_names(task);
  const size_t first = std::min(mistakes.size(), kMistakesAtOnce);
  std::string out = cat("<h3>", names.heading, "</h3>\n", mistake_rows(mistakes, 0, first, names));
  if (first < mistakes.size()) {
    out += cat("<details><summary>", mistakes.size() - first, " more</summary>",
               mistake_rows(mistakes, first, mistakes.size(), names), "</details>\n");
  }
  return out;
}

std::string residuals(const std::vector<NumberPair>& pairs) {
  std::vector<double> distances;
  for (const NumberPair& pair : pairs) {
    distances.push_back(static_cast<double>(pair.prediction) - static_cast<double>(pair.truth));
  }
  Histogram histogram = histogram_of(distances);
  histogram.title = "Residuals";
  histogram.x_name = "predicted minus true value";
  histogram.line = 0;
  histogram.line_name = "no error";
  return figure(histogram);
}

const char* class_kind(Task task) {
  switch (traits(task).labels) {
    case LabelKind::kTagPerWord:
      return "entity type";
    case LabelKind::kSet:
      return "label";
    default:
      return "class";
  }
}

// The scores of both sets of MNLI side by side: texts of the kinds that the training data have, and
// texts of other kinds.
std::string both_sets(const ShownEvaluation& first, const ShownEvaluation& second) {
  std::string rows;
  const auto row = [&rows](const std::string& name, const std::string& one,
                           const std::string& two) {
    rows += cat("<tr><th scope=\"row\">", isolated(name, 60), "</th><td>", one, "</td><td>", two,
                "</td></tr>");
  };
  for (const auto& [name, value] : first.scores.metrics) {
    const auto found = second.scores.metrics.find(name);
    if (found != second.scores.metrics.end()) {
      row(name, score_text(value), score_text(found->second));
    }
  }
  row("loss", score_text(first.loss), score_text(second.loss));
  row("examples", whole_number(first.examples), whole_number(second.examples));
  return scrolling("Scores of both sets",
                   cat("<table><caption>The same model on both sets of evaluation "
                       "data</caption><thead><tr><td></td><th scope=\"col\">matched</th><th "
                       "scope=\"col\">mismatched</th></tr></thead><tbody>",
                       rows, "</tbody></table>"));
}

// `second`: null if there is one set of evaluation data.
std::string result_section(const ShownEvaluation& evaluation, const ShownEvaluation* second,
                           Task task) {
  const TaskScores& scores = evaluation.scores;
  const EvaluationDetails& details = scores.details;
  std::string figures;
  if (second != nullptr) {
    figures += cat("<div><h3>Both sets</h3>\n", both_sets(evaluation, *second), "</div>\n");
  }
  const std::string matrix = confusion(scores);
  if (!matrix.empty()) {
    figures += cat("<div><h3>Confusion matrix</h3>\n", matrix, "</div>\n");
  }
  const std::string classes = class_table(scores.classes, class_kind(task));
  if (!classes.empty()) figures += cat("<div><h3>Scores</h3>\n", classes, "</div>\n");
  if (details.calibration) figures += reliability_figure(*details.calibration);
  if (!details.numbers.empty()) {
    figures += scatter_figure(details.numbers) + residuals(details.numbers);
  }
  const std::string mistakes =
      mistake_table(details.mistakes, task) + missed_query_table(details.missed);
  if (figures.empty() && mistakes.empty()) return "";
  const std::string of = evaluation.is_of_result
                             ? "Of the finished model"
                             : cat("Of the model after update ", whole_number(evaluation.step));
  return section("Results",
                 cat("<p class=\"note\">", of, ", on ", whole_number(evaluation.examples),
                     " examples.</p>\n<div class=\"plots\">\n", figures, "</div>\n", mistakes));
}

}  // namespace

std::string missed_query_table(std::span<const MissedQuery> missed) {
  if (missed.empty()) return "";
  std::string out =
      "<h3>Worst queries</h3>\n<table class=\"words stack\"><thead><tr><th scope=\"col\" "
      "class=\"num\">nDCG@10</th><th scope=\"col\">query</th><th scope=\"col\">wanted</th><th "
      "scope=\"col\" class=\"num\">its rank</th><th scope=\"col\">came first</th></tr></thead>"
      "<tbody>";
  for (const MissedQuery& miss : missed) {
    out +=
        cat("<tr><td class=\"num\" data-name=\"nDCG@10\">", score_text(miss.ndcg),
            "</td><td class=\"long\" data-name=\"query\">", passage(miss.id, miss.query),
            "</td><td class=\"long\" data-name=\"wanted\">", passage(miss.wanted_id, miss.wanted),
            "</td><td class=\"num\" data-name=\"its rank\">",
            miss.rank ? whole_number(*miss.rank) : "above 100",
            "</td><td class=\"long\" data-name=\"came first\">", passage(miss.first_id, miss.first),
            "</td></tr>\n");
  }
  return out + "</tbody></table>\n";
}

std::string job_page(const JobPage& page) {
  const JobFacts& facts = page.facts;
  std::optional<double> majority_rate;
  if (page.evaluation) majority_rate = page.evaluation->scores.majority_rate;
  std::string body = headline(page) + "<main>\n" + curve_section(page.history, majority_rate);
  if (page.evaluation) {
    const auto& second = page.second_evaluation;
    body += result_section(*page.evaluation, second ? &*second : nullptr, facts.task);
  } else if (facts.plan.eval_examples > 0) {
    body += section("Results", "<p>What evaluations find is shown here after the next one.</p>\n");
  }
  body += data_section(facts) + settings_section(facts);
  body += cat("</main>\n<footer><p>Written by ", isolated(facts.record.version), " on ",
              moment_text(page.written_s), ".</p></footer>\n");
  return html_page(cat(facts.name, " – berth"), body, json_for_block(page.history.to_json()));
}

}  // namespace berth
