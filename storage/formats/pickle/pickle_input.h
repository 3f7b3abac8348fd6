#pragma once

#include <string_view>

#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {

// The bytes of a pickle, read from the front. Throws kCorrupt if the bytes end early.
// It remembers that they did: then more of them might have helped.
class PickleInput {
 public:
  explicit PickleInput(Bytes pickle) : pickle_(pickle), rest_(pickle) {}

  size_t offset() const { return rest_.offset(); }
  size_t remaining() const { return rest_.remaining(); }
  bool ran_out() const { return ran_out_; }

  uint8_t u8() { return ahead(1).u8(); }
  uint16_t u16() { return ahead(2).u16(); }
  uint32_t u32() { return ahead(4).u32(); }
  uint64_t u64() { return ahead(8).u64(); }
  Bytes take(uint64_t size) { return ahead(size).take(size); }

  // The bytes up to the end of the line, which it passes over.
  std::string_view line() {
    const auto rest = as_text(pickle_.subspan(offset()));
    const size_t end = rest.find('\n');
    if (end == std::string_view::npos) {
      ran_out_ = true;
      throw Error(Code::kCorrupt, "ends inside a line");
    }
    rest_.skip(end + 1);
    return rest.substr(0, rest.substr(0, end).ends_with('\r') ? end - 1 : end);
  }

  // A length of 32 bits with a sign.
  uint64_t size32() {
    const auto size = static_cast<int32_t>(u32());
    if (size < 0) throw Error(Code::kCorrupt, cat("a length of ", size));
    return static_cast<uint64_t>(size);
  }

 private:
  Cursor& ahead(uint64_t size) {
    ran_out_ |= size > remaining();
    return rest_;
  }

  const Bytes pickle_;
  Cursor rest_;
  bool ran_out_ = false;
};

}  // namespace berth
