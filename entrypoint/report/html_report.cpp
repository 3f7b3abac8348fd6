#include "entrypoint/report/html_report.h"

#include <utility>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

ShownEvaluation shown(const EvaluationReport& report) {
  return {.step = report.step,
          .examples = report.examples,
          .loss = report.loss,
          .scores = *report.scores};
}

constexpr double kRemoteRest_s = 1;      // Cloud Storage takes one write a second to an object
constexpr double kPauseOfDrawing = 100;  // drawing takes at most a hundredth of the time

}  // namespace

HtmlReport::HtmlReport(Storage& storage, HtmlReportOptions options)
    : storage_(storage), options_(std::move(options)) {
  page_.facts = options_.facts;
  page_.history.metric = options_.metric;
}

HtmlReport::~HtmlReport() {
  if (is_over_) return;
  ended({.code = exit_code(Code::kInternal),
         .reason = {},
         .what = "the process ended before all results were written",
         .where = {},
         .hint = "the last line of its log says why",
         .checkpoint = {}});
}

// Reads the page of earlier processes before the first news comes, and waits for the end: later, a
// write might replace the page.
void HtmlReport::on_start(const JobReport& report) {
  {
    const std::lock_guard lock(mutex_);
    page_.facts.plan = report;
  }
  begin();
}

void HtmlReport::begin() noexcept {
  JobHistory history;
  const int64_t first_step = page_.facts.plan.first_step;
  try {
    if (first_step > 0) {
      if (const auto text = read_text(storage_, options_.file)) {
        history = JobHistory::from_page(*text);
      }
    }
  } catch (const std::exception& error) {
    log_debug(cat("the earlier report cannot be read: ", error.what()));
  }
  const std::lock_guard lock(mutex_);
  history.metric = options_.metric;
  history.total_steps = page_.facts.plan.total_steps;
  history.begin_attempt(first_step, options_.wall_clock());
  for (const ProbeReport& report : options_.probes) history.add_probe(report);
  if (first_step > 0) history.add_checkpoint(first_step);
  page_.history = std::move(history);
}

void HtmlReport::on_step(const StepReport& report) {
  {
    const std::lock_guard lock(mutex_);
    page_.history.curve.add({.step = report.step,
                             .loss = report.loss,
                             .learning_rate = report.learning_rate,
                             .examples = static_cast<double>(report.examples),
                             .tokens = static_cast<double>(report.tokens),
                             .seconds = report.seconds});
    if (options_.save_steps > 0 && report.step % options_.save_steps == 0) is_dirty_ = true;
  }
  write_when_due();
}

void HtmlReport::on_evaluation(const EvaluationReport& report) {
  {
    const std::lock_guard lock(mutex_);
    page_.history.add({.step = report.step,
                       .epoch = report.epoch,
                       .loss = report.loss,
                       .metrics = report.metrics});
    if (report.scores != nullptr) page_.evaluation = shown(report);
    is_dirty_ = true;
  }
  write_when_due();
}

// The job is about to end, and then the page is written.
void HtmlReport::on_second_evaluation(const EvaluationReport& report) {
  if (report.scores == nullptr) return;
  const std::lock_guard lock(mutex_);
  page_.second_evaluation = shown(report);
}

void HtmlReport::on_probes(const std::vector<ProbeReport>& reports) {
  {
    const std::lock_guard lock(mutex_);
    for (const ProbeReport& report : reports) page_.history.add_probe(report);
    is_dirty_ = is_dirty_ || !reports.empty();
  }
  write_when_due();
}

void HtmlReport::on_checkpoint(const CheckpointReport& report) {
  {
    const std::lock_guard lock(mutex_);
    page_.history.add_checkpoint(report.step);
    is_dirty_ = true;
  }
  write_when_due();
}

void HtmlReport::set_result(const EvaluationResult& evaluation, int64_t step) {
  const std::lock_guard lock(mutex_);
  page_.evaluation = ShownEvaluation{.step = step,
                                     .examples = evaluation.examples,
                                     .loss = evaluation.loss,
                                     .scores = evaluation.scores,
                                     .is_of_result = true};
}

void HtmlReport::on_finish() {
  is_over_ = true;
  {
    const std::lock_guard lock(mutex_);
    page_.outcome = {.state = JobOutcome::State::kFinished};
  }
  submit();
  wait();
}

void HtmlReport::ended(const FinalReport& how) {
  if (std::exchange(is_over_, true)) return;
  wait();  // only then is it known whether the last write failed
  {
    const std::lock_guard lock(mutex_);
    if (fails_ || page_.facts.plan.total_steps == 0) return;
    page_.outcome = {.state = how.code == exit_code(Code::kStopped) ? JobOutcome::State::kStopped
                                                                    : JobOutcome::State::kFailed,
                     .sentence = sentence(how),
                     .code = how.code};
  }
  submit();
  wait();
}

void HtmlReport::write_when_due() {
  {
    const std::lock_guard lock(mutex_);
    if (!is_dirty_ || options_.steady_clock() < not_before_s_) return;
  }
  submit();
}

void HtmlReport::submit() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_queued_, true)) return;
  }
  background_.submit([this] { write(); });
}

void HtmlReport::write() noexcept {
  try {
    if (written_s_ && !options_.file.is_local()) {
      const double since_s = options_.steady_clock() - *written_s_;
      if (since_s < kRemoteRest_s) options_.sleep(kRemoteRest_s - since_s);
    }
    const double began_s = options_.steady_clock();
    JobPage page;
    {
      const std::lock_guard lock(mutex_);
      is_queued_ = is_dirty_ = false;
      page_.written_s = options_.wall_clock();
      if (!page_.history.attempts.empty()) {
        page_.history.attempts.back().until_s = page_.written_s;
      }
      page = page_;
    }
    const std::string text = job_page(page);
    const double drawn_s = options_.steady_clock() - began_s;
    {
      const std::lock_guard lock(mutex_);
      not_before_s_ = began_s + drawn_s * kPauseOfDrawing;
      fails_ = true;
    }
    write_text(storage_, options_.file, text);
    written_s_ = options_.steady_clock();
    log_debug(cat("report.html took ", drawn_s, " s to draw and ", *written_s_ - began_s - drawn_s,
                  " s to write; ", text.size(), " bytes"));
    const std::lock_guard lock(mutex_);
    fails_ = false;
  } catch (const std::exception& error) {
    if (std::exchange(warned_, true)) return;
    log_warning(cat(options_.file.to_string(), " could not be written: ", error.what(),
                    "; training goes on, and later writes are tried without another warning"));
  }
}

}  // namespace berth
