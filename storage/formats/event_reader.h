#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// One value of a TensorBoard summary.
struct SummaryValue {
  std::string tag;
  std::optional<double> scalar{};  // simple_value, or a tensor of one number; else none
};

// One record of an event file (tensorboard/compat/proto/event.proto).
struct Event {
  double wall_time_s = 0;
  int64_t step = 0;
  std::string file_version{};  // of the first record: "brain.Event:2"
  std::vector<SummaryValue> values{};
};

// Throws kCorrupt, naming the byte of the record.
Event parse_event(Bytes record);

}  // namespace berth
