#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "storage/base/dtype.h"

namespace berth {

// The JSON header of a safetensors file. Nothing in it has been compared with the data yet.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;   // no size is negative
  uint64_t begin = 0, end = 0;  // byte offsets within the data
};
struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of the header; names are unique
  std::map<std::string, std::string> metadata;
};

// Parses the header. Accepts less than JSON allows: nesting, duplicate keys and values of
// unexpected types are rejected at once. Throws kCorrupt, naming the byte of the file or the
// tensor, and kBadData on an element type that is not supported.
SafetensorsHeader parse_safetensors_header(std::string_view json);

}  // namespace berth
