#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace berth {

// The result of one probe: the scores of a model that was fine-tuned from the encoder after `step`
// updates. All numbers are finite.
struct ProbeReport {
  int64_t step = 0;
  std::string name{};    // of the probe
  std::string metric{};  // the main one of `metrics`
  std::map<std::string, double> metrics{};
  double loss = 0;
  int64_t examples = 0;  // that were scored
  double seconds = 0;    // that the training waited
};

}  // namespace berth
