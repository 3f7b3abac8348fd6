#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/error.h"

namespace berth {

// A file whose bytes are a heap block of their own, so that AddressSanitizer detects a read past
// its end.
class BytesInMemory final : public RandomAccessSource {
 public:
  explicit BytesInMemory(Bytes bytes) : bytes_(bytes.begin(), bytes.end()) {}

  uint64_t size() const override { return bytes_.size(); }
  void read_at(uint64_t offset, std::span<std::byte> buffer) override {
    if (offset > bytes_.size() || buffer.size() > bytes_.size() - offset) {
      throw Error(Code::kCorrupt, "ends too early");
    }
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), buffer.size(),
                buffer.begin());
  }
  std::optional<Bytes> view() const override { return Bytes(bytes_); }

 private:
  const std::vector<std::byte> bytes_;
};

}  // namespace berth
