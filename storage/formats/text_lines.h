#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"

namespace berth {

// The lines of a UTF-8 text. A line ends with LF, CRLF or the text; a byte order mark is dropped.
// Not thread-safe.
class TextLines {
 public:
  // No line, and no record made of several, is longer.
  static constexpr size_t kLimitBytes = size_t{64} << 20;

  explicit TextLines(std::unique_ptr<ByteSource> source);

  // The next line, without its end, into `line`, valid until the next call; false at the end of the
  // text. Throws kBadData, naming the line (and the byte in it, from 1), when it is not UTF-8 or
  // too long.
  bool next(std::string_view& line);

  // Of the line last returned: its end ("\n", "\r\n" or "") and its number, from 1.
  std::string_view ending() const { return ending_; }
  uint64_t number() const { return number_; }

 private:
  bool fill();

  std::unique_ptr<ByteSource> source_;
  std::string buffer_;  // [begin_, end_) is read but not yet returned
  size_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  std::string_view ending_;
  uint64_t number_ = 0;
};

// "line 7", as positions and errors say it.
std::string line_position(uint64_t number);

}  // namespace berth
