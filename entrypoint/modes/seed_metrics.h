#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace berth {

// A metric over several seeds, in their order.
struct Spread {
  double mean = 0;
  double std = 0;  // of a sample: over n - 1
  std::vector<double> values;
};
Spread spread_of(std::vector<double> values);  // at least two

// The evaluations of several metrics.json: each number that all of them have, by its name; of
// MNLI's second set with "_mm" behind it. Throws kCorrupt where one is no JSON object.
std::map<std::string, Spread> spreads(const std::vector<std::string>& metrics_json);

// metrics.json of a job of several seeds.
std::string seeds_json(int64_t first_seed, const std::map<std::string, Spread>& spreads);

}  // namespace berth
