#pragma once

#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// A ByteSink that keeps everything in memory.
class MemorySink final : public ByteSink {
 public:
  void write(Bytes bytes) override { written.insert(written.end(), bytes.begin(), bytes.end()); }
  Stat close() override { return {.name = "memory", .size = written.size(), .crc32c = {}}; }

  std::vector<std::byte> written;
};

}  // namespace berth
