#include "entrypoint/event_files.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/event_file.h"

namespace berth {
namespace {

constexpr double kLeastPause_s = 10;
constexpr double kPartOfElapsed = 0.05;

void append(std::vector<std::byte>& bytes, const std::vector<std::byte>& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

Scalar scalar(const std::string& tag, double value) { return {tag, static_cast<float>(value)}; }

}  // namespace

EventRun::EventRun(Storage& storage, Uri directory, std::string writer, Clock wall_clock)
    : storage_(storage),
      directory_(std::move(directory)),
      writer_(std::move(writer)),
      wall_clock_(std::move(wall_clock)) {}

void EventRun::add(const std::vector<std::byte>& record) { append(pending_, record); }

void EventRun::flush() {
  if (pending_.empty()) return;
  const double now = wall_clock_();
  last_name_s_ =
      std::max(last_name_s_, now);  // names keep their order though the clock is set back
  char name[400];
  std::snprintf(name, sizeof name, "events.out.tfevents.%010lld.%s.%06d",
                static_cast<long long>(last_name_s_), writer_.c_str(), counter_);
  const auto sink = storage_.create(directory_ / name);
  sink->write(event_file_header(now));
  sink->write(pending_);
  sink->close();
  ++counter_;
  pending_.clear();
}

std::string this_writer() {
  char host[256] = {};
  if (::gethostname(host, sizeof host - 1) != 0 || host[0] == '\0') return cat("host.", ::getpid());
  return cat(host, ".", ::getpid());
}

EventFiles::EventFiles(Storage& storage, const Uri& summary_dir, EventFileOptions options)
    : options_(std::move(options)),
      train_(storage, summary_dir / "train", options_.writer, options_.wall_clock),
      eval_(storage, summary_dir / "eval", options_.writer, options_.wall_clock),
      began_s_(options_.steady_clock()),
      flushed_s_(began_s_) {}

EventFiles::~EventFiles() { flush(); }

void EventFiles::on_start(const JobReport& report) {
  train_.add(text_event(options_.wall_clock(), report.first_step, "settings", options_.settings));
  try {
    train_.flush();
  } catch (const Error& error) {
    if (error.code() == Code::kNotPermitted) throw;
    log_warning(cat("summaries not stored yet: ", error.what()));
  }
}

void EventFiles::on_step(const StepReport& report) {
  if (report.log) {
    const Scalar scalars[] = {scalar("loss", report.interval_loss),
                              scalar("learning_rate", report.learning_rate),
                              scalar("grad_norm", report.grad_norm),
                              scalar("examples_per_second", report.examples_per_second)};
    train_.add(scalar_event(options_.wall_clock(), report.step, scalars));
  }
  flush_when_due();
}

void EventFiles::on_evaluation(const EvaluationReport& report) {
  std::vector<Scalar> scalars = {scalar("loss", report.loss)};
  for (const auto& [name, value] : report.metrics) scalars.push_back(scalar(name, value));
  eval_.add(scalar_event(options_.wall_clock(), report.step, scalars));
  flush_when_due();
}

void EventFiles::on_finish() { flush(); }

void EventFiles::flush_when_due() {
  const double now = options_.steady_clock();
  const double pause_s = std::max(kLeastPause_s, kPartOfElapsed * (now - began_s_));
  if (now - flushed_s_ < pause_s) return;
  flushed_s_ = now;
  flush();
}

void EventFiles::flush() noexcept {
  for (EventRun* run : {&train_, &eval_}) {
    try {
      run->flush();
    } catch (const std::exception& error) {
      log_warning(cat("summaries not stored yet: ", error.what()));
    }
  }
}

}  // namespace berth
