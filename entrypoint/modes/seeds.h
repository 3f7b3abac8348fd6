#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace berth {

// The values of one metric over several seeds, in the order of the seeds.
struct Spread {
  double mean = 0;
  double std = 0;  // the standard deviation of a sample, with n - 1
  std::vector<double> values;
};
Spread spread_of(std::vector<double> values);  // at least two values

// Compares the evaluations in several metrics.json: the result has each metric that all of them
// have, by its name. Metrics of MNLI's second set end in "_mm". Throws kCorrupt where a text is not
// a JSON object.
std::map<std::string, Spread> spreads(const std::vector<std::string>& metrics_json);

// The metrics.json of a job of several seeds.
std::string seeds_json(int64_t first_seed, const std::map<std::string, Spread>& spreads);

}  // namespace berth
