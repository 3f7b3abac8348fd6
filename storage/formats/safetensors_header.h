#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/dtype.h"

namespace berth {

// The JSON header of a safetensors file, as it stands: nothing is checked against the data.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;   // none negative
  uint64_t begin = 0, end = 0;  // of the data
};
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the header's order, no name twice
  std::map<std::string, std::string> metadata;
};

// Stricter than JSON, so that nesting, duplicate keys and stray types end at once: throws kCorrupt,
// naming the byte of the file or the tensor; kBadData on an element type that berth has not.
SafetensorsHeader parse_safetensors_header(std::string_view json);

}  // namespace berth
