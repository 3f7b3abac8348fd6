#include "entrypoint/report/html/job_page.h"

#include <cmath>

#include "entrypoint/report/html/markup.h"
#include "entrypoint/report/html/page.h"
#include "entrypoint/report/html/training_curves.h"
#include "storage/base/text.h"

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
  if (metric == "accuracy" && scores.majority_rate) {
    return cat("majority class ", score_text(*scores.majority_rate));
  }
  if (metric == "mse" && scores.details.mean_squared_error) {
    return cat("always the mean ", rounded_text(*scores.details.mean_squared_error));
  }
  return "";
}

std::string evaluated_on(const JobPage& page) {
  const ShownEvaluation& evaluation = *page.evaluation;
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
    out += fact(html_text(main), score_text(scores.metrics.at(main)),
                cat(baseline, baseline.empty() ? "" : ", ", evaluated_on(page)), true);
  }
  for (const auto& [name, value] : scores.metrics) {
    if (name != main) out += fact(html_text(name), score_text(value), baseline_text(scores, name));
  }
  const std::string on = scores.metrics.contains(main) ? "" : evaluated_on(page);
  const std::string training = training_loss(page.history);
  return out + fact("evaluation loss", score_text(evaluation.loss),
                    on.empty() || training.empty() ? on + training : cat(training, "; ", on));
}

std::string training_facts(const JobPage& page) {
  const JobHistory& history = page.history;
  std::string out;
  if (!history.curve.buckets().empty()) {
    if (!page.evaluation) {
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
  for (const char* name : {"train-data-file", "data-dir"}) {
    if (const std::string value = value_of(facts, name); !value.empty()) return value;
  }
  return "–";
}

}  // namespace

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
