#include "entrypoint/report/probe_events.h"

#include <cstdio>
#include <utility>

#include "storage/base/text.h"
#include "storage/formats/event_file.h"
#include "storage/store_object.h"

namespace berth {
namespace {

std::vector<std::byte> event_file(int64_t step, const std::vector<ProbeReport>& reports,
                                  double now_s) {
  std::vector<Scalar> scalars;
  for (const ProbeReport& report : reports) {
    const std::string prefix = cat("probe/", report.name, "/");
    scalars.push_back({prefix + "loss", static_cast<float>(report.loss)});
    for (const auto& [name, value] : report.metrics) {
      scalars.push_back({prefix + name, static_cast<float>(value)});
    }
  }
  std::vector<std::byte> file = event_file_header(now_s);
  const std::vector<std::byte> record = scalar_event(now_s, step, scalars);
  file.insert(file.end(), record.begin(), record.end());
  return file;
}

std::string file_name(int64_t step) {
  char name[64];
  std::snprintf(name, sizeof name, "events.out.tfevents.%010lld.probe",
                static_cast<long long>(step));
  return name;
}

}  // namespace

ProbeEvents::ProbeEvents(Storage& storage, Uri directory)
    : storage_(storage), directory_(std::move(directory)) {}

void ProbeEvents::add(const std::vector<ProbeReport>& reports, double now_s) {
  if (reports.empty()) return;
  const int64_t step = reports.front().step;
  add_file(step, {.content = event_file(step, reports, now_s)});
}

void ProbeEvents::restore(const std::vector<ProbeReport>& reports, double now_s) {
  std::map<int64_t, std::vector<ProbeReport>> by_step;
  for (const ProbeReport& report : reports) by_step[report.step].push_back(report);
  for (const auto& [step, of_step] : by_step) {
    add_file(step, {.content = event_file(step, of_step, now_s), .only_if_missing = true});
  }
}

void ProbeEvents::add_file(int64_t step, File file) {
  const std::lock_guard lock(mutex_);
  pending_[step] = std::move(file);
}

void ProbeEvents::flush() {
  while (true) {
    std::pair<int64_t, File> next;
    {
      const std::lock_guard lock(mutex_);
      if (pending_.empty()) return;
      next = {pending_.begin()->first, std::move(pending_.begin()->second)};
      pending_.erase(pending_.begin());
    }
    auto& step = next.first;
    auto& file = next.second;
    try {
      const Uri uri = directory_ / file_name(step);
      if (file.only_if_missing && storage_.stat(uri)) continue;
      store_object(storage_, uri, [&](ByteSink& sink) { sink.write(file.content); });
    } catch (...) {
      const std::lock_guard lock(mutex_);
      pending_.emplace(step, std::move(file));  // unless newer scores of the step were added
      throw;
    }
  }
}

}  // namespace berth
