#pragma once

#include <algorithm>
#include <cstdint>
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

// What becomes of a line that is longer than the limit.
enum class LongLines {
  kRefused,  // beyond kLimitBytes
  kCut,      // Pieces of kPieceBytes, which end after a space or else between two characters.
};
// What becomes of bytes that are not UTF-8.
enum class Malformed { kRefused, kKept };

// Splits UTF-8 text into lines, or UTF-16 that begins with a byte order mark. A line ends with LF,
// CRLF or the end of the text. It ends with CR if the beginning, 256 KiB or more, has CR and no LF,
// as in Excel's "CSV (Macintosh)". A byte order mark is removed. Not thread-safe.
class TextLines {
 public:
  // The longest line, and the longest record that spans several lines.
  static constexpr size_t kLimitBytes = size_t{64} << 20;
  // The longest line where lines are cut.
  static constexpr size_t kPieceBytes = size_t{1} << 20;

  explicit TextLines(std::unique_ptr<ByteSource> source, LongLines long_lines = LongLines::kRefused,
                     Malformed malformed = Malformed::kRefused);

  // Reads the next line or piece of one, without its ending, into `line`, which is valid until the
  // next call. Returns false at the end of the text. Throws kBadData if the line is too long or not
  // UTF-8, naming the line (and the byte in it, counted from 1). After a line that is not UTF-8,
  // the next call goes on with the following one.
  bool next(std::string_view& line);

  // The ending of what was returned last ("\n", "\r\n", "\r" or "") and the number of its line,
  // counted from 1.
  std::string_view ending() const { return ending_; }
  uint64_t number() const { return number_; }

 private:
  bool fill();
  void find_line_end();
  const char* find_newline(size_t limit);
  std::string_view take(const char* newline, size_t limit);

  std::unique_ptr<ByteSource> source_;
  const LongLines long_lines_;
  const Malformed malformed_;
  std::string buffer_;  // [begin_, end_) is read but not yet returned
  size_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  char line_end_ = '\n';
  bool is_first_ = true;  // whether nothing was returned yet
  bool in_line_ = false;  // whether the line was cut and goes on
  std::string_view ending_;
  uint64_t number_ = 0;
};

// Returns "line 7", as positions and errors name a line.
std::string line_position(uint64_t number);

}  // namespace berth
