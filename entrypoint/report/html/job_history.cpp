#include "entrypoint/report/html/job_history.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "entrypoint/report/html/page.h"
#include "storage/base/json.h"
#include "trainer/tasks/task_results.h"

namespace berth {
namespace {

constexpr int64_t kLastUpdate = int64_t{1} << 52;  // beyond which a double does not count
constexpr int kPlotDigits = 6;

void join(StepBucket& into, const StepBucket& next) {
  into.last = next.last;
  into.updates += next.updates;
  into.loss_sum += next.loss_sum;
  into.least_loss = std::min(into.least_loss, next.least_loss);
  into.most_loss = std::max(into.most_loss, next.most_loss);
  into.learning_rate = next.learning_rate;
  into.examples += next.examples;
  into.tokens += next.tokens;
  into.seconds += next.seconds;
}

}  // namespace

void StepCurve::add(const Update& update) {
  const double numbers[] = {update.loss, update.learning_rate, update.examples, update.tokens,
                            update.seconds};
  if (!std::ranges::all_of(numbers, [](double value) { return std::isfinite(value); })) return;
  if (update.step < 1 || update.step > kLastUpdate) return;
  if (!buckets_.empty() && update.step <= buckets_.back().last) return;
  const StepBucket one{.first = update.step,
                       .last = update.step,
                       .updates = 1,
                       .loss_sum = update.loss,
                       .least_loss = update.loss,
                       .most_loss = update.loss,
                       .learning_rate = update.learning_rate,
                       .examples = update.examples,
                       .tokens = update.tokens,
                       .seconds = update.seconds};
  const auto place = [this](int64_t step) { return (step - 1) / width_; };
  if (!buckets_.empty() && place(buckets_.back().first) == place(update.step)) {
    return join(buckets_.back(), one);
  }
  if (buckets_.size() == kMost) {
    widen();
    return add(update);
  }
  buckets_.push_back(one);
}

void StepCurve::widen() {
  width_ *= 2;
  std::vector<StepBucket> wider;
  for (const StepBucket& bucket : buckets_) {
    if (!wider.empty() && (wider.back().first - 1) / width_ == (bucket.first - 1) / width_) {
      join(wider.back(), bucket);
    } else {
      wider.push_back(bucket);
    }
  }
  buckets_ = std::move(wider);
}

void StepCurve::forget_after(int64_t step) {
  std::erase_if(buckets_, [step](const StepBucket& bucket) { return bucket.first > step; });
}

OrderedJson StepCurve::to_json() const {
  OrderedJson rows = OrderedJson::array();
  for (const StepBucket& bucket : buckets_) {
    rows.push_back(
        {bucket.first, bucket.last, bucket.updates, rounded(bucket.loss_sum, kPlotDigits),
         rounded(bucket.least_loss, kPlotDigits), rounded(bucket.most_loss, kPlotDigits),
         rounded(bucket.learning_rate, kPlotDigits), rounded(bucket.examples, kPlotDigits),
         rounded(bucket.tokens, kPlotDigits), rounded(bucket.seconds, kPlotDigits)});
  }
  return {{"width", width_}, {"buckets", rows}};
}

StepCurve StepCurve::from_json(const Json& value) {
  StepCurve curve;
  const auto integer = [](const Json& number) {
    const double read = number.is_number() ? number.get<double>() : 0;
    return read >= 1 && read <= static_cast<double>(kLastUpdate) ? static_cast<int64_t>(read) : 0;
  };
  if (!value.is_object() || !value.contains("width") || !value.contains("buckets")) return curve;
  const int64_t width = integer(value["width"]);
  const Json& rows = value["buckets"];
  if (width == 0 || !rows.is_array() || rows.size() > kMost) return curve;
  std::vector<StepBucket> buckets;
  for (const Json& row : rows) {
    if (!row.is_array() || row.size() != 10) return curve;
    if (!std::ranges::all_of(row, [](const Json& cell) { return cell.is_number(); })) return curve;
    const auto real = [&row](size_t at) { return row[at].get<double>(); };
    const StepBucket bucket{.first = integer(row[0]),
                            .last = integer(row[1]),
                            .updates = integer(row[2]),
                            .loss_sum = real(3),
                            .least_loss = real(4),
                            .most_loss = real(5),
                            .learning_rate = real(6),
                            .examples = real(7),
                            .tokens = real(8),
                            .seconds = real(9)};
    const bool follows = buckets.empty() || bucket.first > buckets.back().last;
    if (bucket.first == 0 || bucket.updates == 0 || bucket.last < bucket.first || !follows) {
      return curve;
    }
    buckets.push_back(bucket);
  }
  curve.width_ = width;
  curve.buckets_ = std::move(buckets);
  return curve;
}

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

double real(const JsonObject& object, const char* name) { return object.number(name).value_or(0); }

int64_t count(const Json& value) {
  const double read = value.is_number() ? value.get<double>() : -1;
  return read >= 0 && read < 1e15 ? static_cast<int64_t>(read) : 0;
}

int64_t count(const JsonObject& object, const char* name) {
  const Json* found = object.find(name);
  return found != nullptr ? count(*found) : 0;
}

std::string text(const JsonObject& object, const char* name) {
  return object.text(name).value_or("");
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
  const Json parsed = parse_json(page.substr(0, page.find(kHistoryEnd)));
  const JsonObject object(parsed);
  if (count(object, "format") != 1) return history;
  history.total_steps = count(object, "total_steps");
  history.metric = text(object, "metric");
  for (const Json& value : object.values("attempts")) {
    const JsonObject one(value);
    if (!one.is_there() || history.attempts.size() >= kMostMarks) break;
    history.attempts.push_back({count(one, "first_step"), real(one, "began"), real(one, "until")});
  }
  for (const Json& value : object.values("evaluations")) {
    const JsonObject one(value), metrics = one.within("metrics");
    if (!metrics.is_there() || history.evaluations.size() >= kMostEvaluations) break;
    // null: there was none, or it was not a number
    const bool has_no_loss = value.contains("loss") && one.find("loss") == nullptr;
    history.add(Evaluation{count(one, "step"), real(one, "epoch"),
                           has_no_loss ? NAN : real(one, "loss"), metrics.all_numbers()});
  }
  for (const Json& value : object.values("probes")) {
    const JsonObject one(value);
    if (!one.is_there()) break;
    const std::string metric = text(one, "metric");
    history.add_probe(ProbeReport{.step = count(one, "step"),
                                  .name = text(one, "name"),
                                  .metric = metric,
                                  .metrics = {{metric, real(one, "value")}}});
  }
  for (const Json& one : object.values("checkpoints")) {
    if (history.checkpoints.size() >= kMostMarks) break;
    history.add_checkpoint(count(one));
  }
  if (const Json* curve = object.find("curve")) history.curve = StepCurve::from_json(*curve);
  return history;
}

}  // namespace berth
