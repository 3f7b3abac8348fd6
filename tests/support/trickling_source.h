#pragma once

#include <span>

#include "storage/base/bytes.h"

namespace berth {

// Gives one byte of `content` at each read. Borrows `content`.
class TricklingSource final : public ByteSource {
 public:
  explicit TricklingSource(Bytes content) : content_(content) {}
  size_t read(std::span<std::byte> buffer) override { return content_.read(buffer.first(1)); }

 private:
  MemorySource content_;
};

}  // namespace berth
