#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth {

// One file of the executable cache, little-endian:
//
//   offset  0  "berthxla"
//           8  u32  version of this layout, 1
//          12  u32  CRC-32C of the payload
//          16  u64  size of the payload in bytes
//          24  the payload, to the end of the file

// Returns the payload, or nullopt if there is no such file. Throws kCorrupt where the file is
// damaged, and kNotPermitted where it cannot be read.
std::optional<std::string> read_cache_entry(const std::string& path);

// Writes to a temporary name in the same folder, which it makes if it is absent, and renames that:
// the entry appears as a whole. Throws kNotPermitted or kNoSpace.
void write_cache_entry(const std::string& path, std::string_view payload);

}  // namespace berth
