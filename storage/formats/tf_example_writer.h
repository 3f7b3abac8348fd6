#pragma once

#include <span>
#include <vector>

#include "storage/formats/tf_example.h"

namespace berth {

// A tf.Example of these features, in their order; numbers are packed. Sorted by name they are the
// bytes that TensorFlow's deterministic serialisation gives.
std::vector<std::byte> serialize_tf_example(std::span<const TfFeature> features);

}  // namespace berth
