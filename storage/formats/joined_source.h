#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "storage/base/bytes.h"

namespace berth {

// Reads `beginning`, and then the remaining bytes of `rest`.
class JoinedSource final : public ByteSource {
 public:
  JoinedSource(std::string beginning, std::unique_ptr<ByteSource> rest)
      : beginning_(std::move(beginning)), rest_(std::move(rest)) {}

  size_t read(std::span<std::byte> buffer) override {
    if (place_ == beginning_.size()) return rest_->read(buffer);
    const Bytes left = as_bytes(std::string_view(beginning_).substr(place_));
    const size_t count = std::min(buffer.size(), left.size());
    std::copy_n(left.begin(), count, buffer.begin());
    place_ += count;
    return count;
  }

 private:
  const std::string beginning_;
  const std::unique_ptr<ByteSource> rest_;
  size_t place_ = 0;
};

// Reads more of `source` behind `text`. Returns false at its end.
inline bool read_more(ByteSource& source, std::string& text) {
  constexpr size_t kChunk = size_t{1} << 18;
  const size_t old = text.size();
  text.resize(old + kChunk);
  const size_t got = source.read(std::as_writable_bytes(std::span(text).subspan(old)));
  text.resize(old + got);
  return got > 0;
}

}  // namespace berth
