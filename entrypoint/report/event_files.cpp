#include "entrypoint/report/event_files.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "entrypoint/report/class_events.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/formats/event_file.h"
#include "storage/store_object.h"
#include "trainer/loop/training_state.h"

namespace berth {
namespace {

constexpr double kLeastPause_s = 10;
constexpr double kPartOfElapsed = 0.05;

void append(std::vector<std::byte>& bytes, const std::vector<std::byte>& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// The index, from 0, of the epoch that ends when `epochs` epochs are done; nullopt: none ends
// there.
std::optional<int64_t> whole_epoch(double epochs) {
  const double whole = std::round(epochs);
  if (whole < 1 || std::abs(epochs - whole) > 1e-9) return std::nullopt;
  return static_cast<int64_t>(whole) - 1;
}

Scalar scalar(const std::string& tag, double value) { return {tag, static_cast<float>(value)}; }

}  // namespace

EventRun::EventRun(Storage& storage, Uri directory, std::string writer)
    : storage_(storage), directory_(std::move(directory)), writer_(std::move(writer)) {}

void EventRun::add(const std::vector<std::byte>& record) {
  const std::lock_guard lock(mutex_);
  append(pending_, record);
}

void EventRun::flush(double now_s) {
  std::vector<std::byte> records;
  {
    const std::lock_guard lock(mutex_);
    records.swap(pending_);
  }
  if (records.empty()) return;
  // The names keep their order even if the clock is set back.
  last_name_s_ = std::max(last_name_s_, now_s);
  char name[400];
  std::snprintf(name, sizeof name, "events.out.tfevents.%010lld.%s.%06d",
                static_cast<long long>(last_name_s_), writer_.c_str(), counter_);
  try {
    store_object(storage_, directory_ / name, [&](ByteSink& sink) {
      sink.write(event_file_header(now_s));
      sink.write(records);
    });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    pending_.insert(pending_.begin(), records.begin(), records.end());
    throw;
  }
  ++counter_;
}

EventFiles::EventFiles(Storage& storage, const Uri& summary_dir, EventFileOptions options)
    : options_(std::move(options)),
      job_(storage, summary_dir, options_.writer),
      train_(storage, summary_dir / "train", options_.writer),
      eval_(storage, summary_dir / "eval", options_.writer),
      probes_(storage, summary_dir / "probe"),
      began_s_(options_.steady_clock()),
      flushed_s_(began_s_) {}

EventFiles::~EventFiles() { flush(); }

void EventFiles::on_start(const JobReport& report) {
  const double now_s = options_.wall_clock();
  train_.add(text_event(now_s, report.first_step, "settings", options_.settings));
  if (!options_.hparams.empty()) job_.add(hparams_event(now_s, options_.hparams));
  is_whole_epoch_ = report.first_step == 0;
  try {
    train_.flush(now_s);
    job_.flush(now_s);
  } catch (const Error& error) {
    if (error.code() == Code::kNotPermitted) throw;
    log_warning(cat("the summaries could not be stored and will be tried again: ", error.what()));
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
  add_epoch(report);
  flush_when_due();
}

void EventFiles::add_epoch(const StepReport& report) {
  epoch_loss_ += report.loss * report.loss_weight;
  epoch_weight_ += report.loss_weight;
  const std::optional<int64_t> epoch = whole_epoch(report.epoch);
  if (!epoch) return;
  if (is_whole_epoch_) {
    const Scalar scalars[] = {scalar("epoch_loss", mean_loss(epoch_loss_, epoch_weight_)),
                              scalar("epoch_learning_rate", report.learning_rate)};
    train_.add(scalar_event(options_.wall_clock(), *epoch, scalars));
  }
  is_whole_epoch_ = true;
  epoch_loss_ = epoch_weight_ = 0;
}

void EventFiles::on_evaluation(const EvaluationReport& report) {
  std::vector<Scalar> scalars = {scalar("loss", report.loss)};
  for (const auto& [name, value] : report.metrics) scalars.push_back(scalar(name, value));
  const std::vector<Scalar> own = scalars;
  for (const Scalar& value : own) {
    scalars.push_back({cat("evaluation_", value.tag, "_vs_iterations"), value.value});
  }
  const double now_s = options_.wall_clock();
  eval_.add(scalar_event(now_s, report.step, scalars));
  if (report.scores != nullptr) {
    for (const auto& record : class_events(now_s, report.step, *report.scores)) eval_.add(record);
  }
  if (const std::optional<int64_t> epoch = whole_epoch(report.epoch)) {
    std::vector<Scalar> of_epoch;
    for (const Scalar& value : own) of_epoch.push_back({"epoch_" + value.tag, value.value});
    eval_.add(scalar_event(now_s, *epoch, of_epoch));
  }
  flush_when_due();
}

void EventFiles::on_probes(const std::vector<ProbeReport>& reports) {
  probes_.add(reports, options_.wall_clock());
  flush_when_due();
}

void EventFiles::restore(const std::vector<ProbeReport>& reports) {
  probes_.restore(reports, options_.wall_clock());
}

void EventFiles::on_finish() {
  if (!options_.hparams.empty()) job_.add(hparams_end_event(options_.wall_clock()));
  flush();
  wait();
}

// Does nothing while the last write is still running. The next write includes the new records.
void EventFiles::flush_when_due() {
  const double now = options_.steady_clock();
  const double pause_s = std::max(kLeastPause_s, kPartOfElapsed * (now - began_s_));
  if (now - flushed_s_ < pause_s || !background_.idle()) return;
  flushed_s_ = now;
  flush();
}

void EventFiles::flush() {
  background_.submit([this, now_s = options_.wall_clock()] {
    const auto store = [](auto&& write) {
      try {
        write();
      } catch (const std::exception& error) {
        log_warning(
            cat("the summaries could not be stored and will be tried again: ", error.what()));
      }
    };
    for (EventRun* run : {&job_, &train_, &eval_}) store([&] { run->flush(now_s); });
    store([this] { probes_.flush(); });
  });
}

}  // namespace berth
