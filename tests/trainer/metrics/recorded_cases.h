#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "storage/base/json.h"
#include "trainer/metrics/metrics.h"

namespace berth {

// The cases that tests/record/record_metrics.py recorded.
inline Json recorded_cases(const std::string& name) {
  std::ifstream file(BERTH_TESTDATA "/metrics/" + name + ".json");
  return parse_json(std::string(std::istreambuf_iterator<char>(file), {}));
}

// Compares the rates of class `label`; `recorded` has a list over the classes for each rate.
inline void expect_counts(const ClassCounts& counts, const Json& recorded, size_t label) {
  EXPECT_NEAR(counts.precision(), recorded["precision"][label].get<double>(), 1e-12) << label;
  EXPECT_NEAR(counts.recall(), recorded["recall"][label].get<double>(), 1e-12) << label;
  EXPECT_NEAR(counts.f1(), recorded["f1"][label].get<double>(), 1e-12) << label;
  EXPECT_EQ(counts.support, recorded["support"][label].get<int64_t>()) << label;
}

}  // namespace berth
