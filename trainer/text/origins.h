#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace berth {

// Says for each byte of a changed text which bytes of the original text it came from. Neighbouring
// bytes are stored as one run of 12 bytes in two cases: they all came from the same bytes, or each
// came from one byte and these are neighbours, too. Not thread-safe, not even to read: it remembers
// the position of the last lookup.
class Origins {
 public:
  // The next `count` bytes all came from `origin`.
  void add(size_t count, Span origin);
  // The origin of a byte that was added. Asking for neighbouring bytes one after another is fast.
  Span of(size_t byte) const;

 private:
  static constexpr uint32_t kOneByOne = UINT32_MAX;
  struct Run {
    uint32_t begin;  // its first byte; it ends where the next one begins
    Span origin;  // of all its bytes; or, if `end` is kOneByOne, only the begin for its first one
  };

  size_t run_of(size_t byte) const;

  std::vector<Run> runs_;
  uint32_t size_ = 0;
  mutable size_t asked_ = 0;  // the run that was asked for last
};

}  // namespace berth
