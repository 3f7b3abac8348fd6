#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "storage/base/bytes.h"

// The message tf.Example. Thread-safe.
namespace berth {

// One feature of a tf.Example. monostate means that the feature has no kind, and so no values.
struct TfFeature {
  std::string name;
  std::variant<std::monostate, std::vector<std::string>, std::vector<float>, std::vector<int64_t>>
      values;
};

// Parses a serialized tf.Example (tensorflow/core/example/example.proto) and returns its features
// sorted by name. If a name occurs twice, the last one wins. Numbers may be packed, unpacked, or
// both. Throws kCorrupt, naming the byte or the feature. Memory is bounded by the size of the
// record.
std::vector<TfFeature> parse_tf_example(Bytes record);

// Serializes a tf.Example with these features, in their order, with packed numbers. If the features
// are sorted by name, the bytes equal TensorFlow's deterministic serialization.
std::vector<std::byte> serialize_tf_example(std::span<const TfFeature> features);

}  // namespace berth
