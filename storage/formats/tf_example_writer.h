#pragma once

#include <span>
#include <vector>

#include "storage/formats/tf_example.h"

namespace berth {

// Serializes a tf.Example with these features, in their order, with packed numbers. If the features
// are sorted by name, the bytes equal TensorFlow's deterministic serialization.
std::vector<std::byte> serialize_tf_example(std::span<const TfFeature> features);

}  // namespace berth
