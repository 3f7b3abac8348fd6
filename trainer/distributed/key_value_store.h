#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// Where ranks leave each other their addresses before they are connected. Thread-safe.
class KeyValueStore {
 public:
  virtual ~KeyValueStore() = default;
  virtual void set(const std::string& key, Bytes value) = 0;
  // Waits until some rank has set the key. Throws kPeerLost where that takes too long.
  virtual std::vector<std::byte> get(const std::string& key) = 0;
};

}  // namespace berth
