#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// TensorBoard event records: TFRecord framing of Event protos (reference: tensorboard
// compat/proto/event.proto). A file is the version record followed by any number of others.
//
// The first record of every file: wall_time and file_version "brain.Event:2".
std::vector<std::byte> event_file_header(double wall_time_s);

struct Scalar {
  std::string tag;
  float value;
};

// One record that holds all `scalars` of `step`, as simple_value.
std::vector<std::byte> scalar_event(double wall_time_s, int64_t step,
                                    std::span<const Scalar> scalars);

// One record that shows `text` (Markdown) under `tag` in the Text tab.
std::vector<std::byte> text_event(double wall_time_s, int64_t step, const std::string& tag,
                                  const std::string& text);

}  // namespace berth
