#include <algorithm>
#include <cmath>

#include "entrypoint/report/html/distribution_plots.h"
#include "entrypoint/report/html/job_page.h"
#include "entrypoint/report/html/markup.h"
#include "entrypoint/report/html/page.h"
#include "storage/base/text.h"

namespace berth {
namespace {

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
  char shade[16];
  std::snprintf(shade, sizeof shade, "%.2f",
                static_cast<double>(count) / static_cast<double>(row_sum));
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
  std::string out;
  for (const std::string& text : mistake.texts) {
    out += cat(out.empty() ? "" : "<br/>", isolated(text));
  }
  return out.empty() ? "–" : out;
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

}  // namespace

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
  const std::string mistakes = mistake_table(details.mistakes, task);
  if (figures.empty() && mistakes.empty()) return "";
  const std::string of = evaluation.is_of_result
                             ? "Of the finished model"
                             : cat("Of the model after update ", whole_number(evaluation.step));
  return section("Results",
                 cat("<p class=\"note\">", of, ", on ", whole_number(evaluation.examples),
                     " examples.</p>\n<div class=\"plots\">\n", figures, "</div>\n", mistakes));
}

}  // namespace berth
