#include "entrypoint/report/html/step_curve.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace berth {
namespace {

constexpr int64_t kLastUpdate = int64_t{1} << 52;  // beyond which a double does not count

// `value` with six digits, which are enough for a plot.
double six_digits(double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", value);
  return std::strtod(digits, nullptr);
}

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
    rows.push_back({bucket.first, bucket.last, bucket.updates, six_digits(bucket.loss_sum),
                    six_digits(bucket.least_loss), six_digits(bucket.most_loss),
                    six_digits(bucket.learning_rate), six_digits(bucket.examples),
                    six_digits(bucket.tokens), six_digits(bucket.seconds)});
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

}  // namespace berth
