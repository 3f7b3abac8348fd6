#include "entrypoint/modes/seed_metrics.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "storage/base/error.h"
#include "storage/base/json.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Whether a seed can change the number. The number of rows and the share of the most frequent class
// belong to the data.
bool is_metric(const std::string& name) { return name != "examples" && name != "majority_rate"; }

void collect(const Json& evaluation, const std::string& suffix,
             std::map<std::string, std::vector<double>>& values) {
  for (const auto& [name, value] : evaluation.items()) {
    if (value.is_number() && is_metric(name)) values[name + suffix].push_back(value.get<double>());
  }
}

}  // namespace

Spread spread_of(std::vector<double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {.mean = mean, .std = std::sqrt(squares / (count - 1)), .values = std::move(values)};
}

std::map<std::string, Spread> spreads(const std::vector<std::string>& metrics_json) {
  std::map<std::string, std::vector<double>> values;
  for (const std::string& text : metrics_json) {
    const Json metrics = parse_json(text);
    if (!metrics.is_object()) throw Error(Code::kCorrupt, "a seed's metrics.json is not an object");
    for (const auto& [part, suffix] : {std::pair("eval", ""), std::pair("eval_mm", "_mm")}) {
      if (metrics.contains(part)) collect(metrics.at(part), suffix, values);
    }
  }
  std::map<std::string, Spread> result;
  for (auto& [name, of_seeds] : values) {
    if (of_seeds.size() == metrics_json.size()) result[name] = spread_of(std::move(of_seeds));
  }
  return result;
}

std::string seeds_json(int64_t first_seed, const std::map<std::string, Spread>& spreads) {
  OrderedJson metrics = OrderedJson::object();
  for (const auto& [name, spread] : spreads) {
    metrics[name] = {{"mean", spread.mean}, {"std", spread.std}, {"values", spread.values}};
  }
  return to_text(OrderedJson{{"first_seed", first_seed}, {"seeds", metrics}, {"finished", true}},
                 2) +
         "\n";
}

}  // namespace berth
