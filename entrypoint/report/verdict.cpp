#include "entrypoint/report/verdict.h"

#include <algorithm>

#include "entrypoint/report/bar_line.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr int64_t kFewestUpdates = 20;  // fewer say nothing about a trend
constexpr double kGrowth = 1.1;         // the last tenth's loss over the first one's
constexpr double kMargin = 0.005;       // of accuracy

std::string rate_text(double rate) { return number_text("%.2g", rate); }

}  // namespace

void Verdict::on_start(const JobReport& report) {
  first_step_ = report.first_step;
  peak_rate_ = report.peak_learning_rate;
  const int64_t updates = report.total_steps - report.first_step;
  part_ = updates < kFewestUpdates ? 0 : std::max<int64_t>(1, updates / 10);
  last_begins_ = report.total_steps - part_;
  first_loss_ = last_loss_ = 0;
  evaluation_.reset();
}

void Verdict::on_step(const StepReport& report) {
  if (report.step <= first_step_ + part_) first_loss_ += report.loss;
  if (report.step > last_begins_) last_loss_ += report.loss;
}

void Verdict::on_evaluation(const EvaluationReport& report) { evaluation_ = report; }

void Verdict::on_finish() {
  if (part_ > 0 && last_loss_ > kGrowth * first_loss_ && first_loss_ > 0) {
    const auto part = static_cast<double>(part_);
    log_warning(cat("the loss grew from ", number_text("%.3g", first_loss_ / part), " to ",
                    number_text("%.3g", last_loss_ / part), ": the learning rate ",
                    rate_text(peak_rate_), " is probably too high; try --learning-rate ",
                    rate_text(peak_rate_ / 10)));
    return;
  }
  const bool trained = peak_rate_ > 0;
  if (!trained || !evaluation_ || !evaluation_->majority_rate) return;
  const auto accuracy = evaluation_->metrics.find("accuracy");
  if (accuracy == evaluation_->metrics.end()) return;
  if (accuracy->second > *evaluation_->majority_rate + kMargin || accuracy->second > 0.99) return;
  log_warning(cat("the accuracy ", number_text("%.4f", accuracy->second),
                  " is no better than always predicting the most frequent class (",
                  number_text("%.4f", *evaluation_->majority_rate),
                  "): try more --epochs or another --learning-rate than ", rate_text(peak_rate_),
                  ", and look at the texts and labels with --mode inspect"));
}

}  // namespace berth
