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
  std::optional<double> scalar{};  // from simple_value, or from a tensor with one element
};

// One record of an event file (tensorboard/compat/proto/event.proto).
struct Event {
  double wall_time_s = 0;
  int64_t step = 0;
  std::string file_version{};  // only in the first record: "brain.Event:2"
  std::vector<SummaryValue> values{};
};

// Parses the data of one TFRecord. Throws kCorrupt, naming the byte within the record.
Event parse_event(Bytes record);

}  // namespace berth
