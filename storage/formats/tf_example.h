#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// One feature of a tf.Example; monostate is one without a kind.
struct TfFeature {
  std::string name;
  std::variant<std::monostate, std::vector<std::string>, std::vector<float>, std::vector<int64_t>>
      values;
};

// The features of a serialised tf.Example (tensorflow/core/example/example.proto), sorted by name;
// of a name that occurs twice the last. Numbers may be packed or not, or both. Throws kCorrupt,
// naming the byte or the feature; memory is bounded by the record's size.
std::vector<TfFeature> parse_tf_example(Bytes record);

}  // namespace berth
