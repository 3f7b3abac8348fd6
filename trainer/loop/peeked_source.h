#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// A source whose beginning can be looked at before it is read.
class PeekedSource final : public ByteSource {
 public:
  // The beginning has at most `size` bytes.
  explicit PeekedSource(std::unique_ptr<ByteSource> inner, size_t size = size_t{16} << 10)
      : inner_(std::move(inner)), beginning_(size) {
    size_t filled = 0;
    while (filled < beginning_.size()) {
      const size_t got = inner_->read(std::span(beginning_).subspan(filled));
      if (got == 0) break;
      filled += got;
    }
    rest_ = Bytes(beginning_).first(filled);
  }

  std::string_view beginning() const { return as_text(rest_); }

  size_t read(std::span<std::byte> buffer) override {
    if (rest_.empty()) return inner_->read(buffer);
    const size_t count = std::min(buffer.size(), rest_.size());
    std::copy_n(rest_.begin(), count, buffer.begin());
    rest_ = rest_.subspan(count);
    return count;
  }

  std::unique_ptr<RandomAccessSource> map() override { return inner_->map(); }

 private:
  const std::unique_ptr<ByteSource> inner_;
  std::vector<std::byte> beginning_;
  Bytes rest_;
};

}  // namespace berth
