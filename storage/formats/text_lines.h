#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"

namespace berth {

// Splits UTF-8 text into lines. A line ends with LF, CRLF or the end of the text. A byte order mark
// is removed. Not thread-safe.
class TextLines {
 public:
  // The longest line, and the longest record that spans several lines.
  static constexpr size_t kLimitBytes = size_t{64} << 20;

  explicit TextLines(std::unique_ptr<ByteSource> source);

  // Reads the next line, without its ending, into `line`, which is valid until the next call.
  // Returns false at the end of the text. Throws kBadData if the line is too long or not UTF-8,
  // naming the line (and the byte in it, counted from 1).
  bool next(std::string_view& line);

  // The ending of the line returned last ("\n", "\r\n" or "") and its number, counted from 1.
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

// Returns "line 7", as positions and errors name a line.
std::string line_position(uint64_t number);

}  // namespace berth
