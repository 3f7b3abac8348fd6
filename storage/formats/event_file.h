#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// Writes TensorBoard event files: Event messages in TFRecord framing (tensorboard's
// compat/proto/event.proto). A file consists of the version record and any number of other records.
//
// Returns the first record of every file, with wall_time and the file_version "brain.Event:2".
std::vector<std::byte> event_file_header(double wall_time_s);

struct Scalar {
  std::string tag;
  float value;
};

// Returns one record with all `scalars` of `step`, each as a simple_value.
std::vector<std::byte> scalar_event(double wall_time_s, int64_t step,
                                    std::span<const Scalar> scalars);

// Returns one record that shows the Markdown `text` under `tag` in TensorBoard's Text tab.
std::vector<std::byte> text_event(double wall_time_s, int64_t step, const std::string& tag,
                                  const std::string& text);

}  // namespace berth
