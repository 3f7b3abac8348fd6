#include "entrypoint/report/html/job_history.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "trainer/tasks/metric_names.h"

namespace berth {
namespace {

// Removes every second one of the older elements: the first and the newest ones stay.
template <typename T>
void thin_out(std::vector<T>& list) {
  std::vector<T> kept;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i % 2 == 0 || i + 2 >= list.size()) kept.push_back(std::move(list[i]));
  }
  list = std::move(kept);
}

double real(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

int64_t count(const Json& value) {
  const double read = value.is_number() ? value.get<double>() : -1;
  return read >= 0 && read < 1e15 ? static_cast<int64_t>(read) : 0;
}

int64_t count(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() ? count(*found) : 0;
}

std::string text(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& list(const Json& object, const char* name) {
  static const Json kNone = Json::array();
  const auto found = object.find(name);
  return found != object.end() && found->is_array() ? *found : kNone;
}

}  // namespace

void JobHistory::add(Evaluation evaluation) {
  while (!evaluations.empty() && evaluations.back().step >= evaluation.step) {
    evaluations.pop_back();
  }
  if (evaluations.size() >= kMostEvaluations) thin_out(evaluations);
  evaluations.push_back(std::move(evaluation));
}

void JobHistory::add_probe(const ProbeReport& report) {
  const auto found = report.metrics.find(report.metric);
  const double value = found == report.metrics.end() ? report.loss : found->second;
  Probe probe{report.step, report.name, found == report.metrics.end() ? "loss" : report.metric,
              value};
  const auto same = std::ranges::find_if(probes, [&](const Probe& other) {
    return other.step == probe.step && other.name == probe.name;
  });
  if (same != probes.end()) {
    *same = std::move(probe);
  } else if (probes.size() < kMostProbes) {
    probes.insert(std::ranges::upper_bound(probes, probe.step, {}, &Probe::step), std::move(probe));
  }
}

void JobHistory::add_checkpoint(int64_t step) {
  if (std::ranges::binary_search(checkpoints, step)) return;
  if (checkpoints.size() >= kMostMarks) thin_out(checkpoints);
  checkpoints.insert(std::ranges::upper_bound(checkpoints, step), step);
}

void JobHistory::begin_attempt(int64_t first_step, double now_s) {
  curve.forget_after(first_step);
  std::erase_if(evaluations, [&](const Evaluation& other) { return other.step > first_step; });
  std::erase_if(probes, [&](const Probe& other) { return other.step > first_step; });
  std::erase_if(checkpoints, [&](int64_t step) { return step > first_step; });
  if (attempts.size() >= kMostMarks) thin_out(attempts);
  attempts.push_back({first_step, now_s, now_s});
}

double JobHistory::seconds() const {
  double sum = 0;
  for (const Attempt& attempt : attempts) sum += std::max(0.0, attempt.until_s - attempt.began_s);
  return sum;
}

std::optional<double> JobHistory::value(const Evaluation& evaluation,
                                        const std::string& name) const {
  const auto found = evaluation.metrics.find(name);
  const double value = name == "loss"                      ? evaluation.loss
                       : found == evaluation.metrics.end() ? NAN
                                                           : found->second;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

const JobHistory::Evaluation* JobHistory::best() const {
  const Evaluation* best = nullptr;
  for (const Evaluation& one : evaluations) {
    const auto now = value(one, metric), before = best ? value(*best, metric) : std::nullopt;
    if (!now) continue;
    if (!before || (is_error_metric(metric) ? *now < *before : *now > *before)) best = &one;
  }
  return best;
}

std::string JobHistory::to_json() const {
  OrderedJson object = {{"format", 1}, {"total_steps", total_steps}, {"metric", metric}};
  object["attempts"] = OrderedJson::array();
  for (const Attempt& attempt : attempts) {
    object["attempts"].push_back({{"first_step", attempt.first_step},
                                  {"began", attempt.began_s},
                                  {"until", attempt.until_s}});
  }
  object["evaluations"] = OrderedJson::array();
  for (const Evaluation& evaluation : evaluations) {
    OrderedJson one = {{"step", evaluation.step},
                       {"epoch", evaluation.epoch},
                       {"loss", evaluation.loss},
                       {"metrics", OrderedJson::object()}};
    for (const auto& [name, value] : evaluation.metrics) one["metrics"][name] = value;
    object["evaluations"].push_back(std::move(one));
  }
  object["probes"] = OrderedJson::array();
  for (const Probe& probe : probes) {
    object["probes"].push_back({{"step", probe.step},
                                {"name", probe.name},
                                {"metric", probe.metric},
                                {"value", probe.value}});
  }
  object["checkpoints"] = checkpoints;
  object["curve"] = curve.to_json();
  return to_text(object);
}

JobHistory JobHistory::from_page(std::string_view page) {
  JobHistory history;
  const size_t begin = page.find(kHistoryBegin);
  if (begin == page.npos) return history;
  page.remove_prefix(begin + kHistoryBegin.size());
  const Json object = parse_json(page.substr(0, page.find(kHistoryEnd)));
  if (!object.is_object() || count(object, "format") != 1) return history;
  history.total_steps = count(object, "total_steps");
  history.metric = text(object, "metric");
  for (const Json& one : list(object, "attempts")) {
    if (!one.is_object() || history.attempts.size() >= kMostMarks) break;
    history.attempts.push_back({count(one, "first_step"), real(one, "began"), real(one, "until")});
  }
  for (const Json& one : list(object, "evaluations")) {
    if (!one.is_object() || history.evaluations.size() >= kMostEvaluations) break;
    Evaluation evaluation{count(one, "step"), real(one, "epoch"), real(one, "loss")};
    const auto metrics = one.find("metrics");
    if (metrics == one.end() || !metrics->is_object()) break;
    for (const auto& [name, value] : metrics->items()) {
      if (value.is_number()) evaluation.metrics[name] = value.get<double>();
    }
    history.add(std::move(evaluation));
  }
  for (const Json& one : list(object, "probes")) {
    if (!one.is_object()) break;
    const std::string metric = text(one, "metric");
    history.add_probe(ProbeReport{.step = count(one, "step"),
                                  .name = text(one, "name"),
                                  .metric = metric,
                                  .metrics = {{metric, real(one, "value")}}});
  }
  for (const Json& one : list(object, "checkpoints")) {
    if (history.checkpoints.size() >= kMostMarks) break;
    history.add_checkpoint(count(one));
  }
  if (object.contains("curve")) history.curve = StepCurve::from_json(object["curve"]);
  return history;
}

}  // namespace berth
