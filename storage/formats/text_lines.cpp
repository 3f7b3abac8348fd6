#include "storage/formats/text_lines.h"

#include <cstring>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 18;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

TextLines::TextLines(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

// Appends more text at end_. Returns false at the end of the text.
bool TextLines::fill() {
  if (at_end_) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() - end_ < kChunkBytes) buffer_.resize(end_ * 2 + kChunkBytes);
  const size_t count =
      source_->read(std::as_writable_bytes(std::span(buffer_.data() + end_, kChunkBytes)));
  end_ += count;
  at_end_ = count == 0;
  return !at_end_;
}

bool TextLines::next(std::string_view& line) {
  size_t scanned = 0;
  const char* newline = nullptr;
  while (newline == nullptr) {
    const size_t size = end_ - begin_;
    if (size > scanned) {
      newline = static_cast<const char*>(
          std::memchr(buffer_.data() + begin_ + scanned, '\n', size - scanned));
      scanned = size;
    }
    if (newline == nullptr && scanned > kLimitBytes) {
      throw Error(Code::kBadData, cat("is longer than ", human_bytes(kLimitBytes)),
                  line_position(number_ + 1));
    }
    if (newline == nullptr && !fill()) break;
  }
  if (begin_ == end_) return false;
  ++number_;
  const char* start = buffer_.data() + begin_;
  const char* stop = newline == nullptr ? buffer_.data() + end_ : newline;
  ending_ = newline == nullptr ? "" : "\n";
  begin_ = (newline == nullptr ? stop : stop + 1) - buffer_.data();
  if (newline != nullptr && stop > start && stop[-1] == '\r') {
    --stop;
    ending_ = "\r\n";
  }
  line = {start, static_cast<size_t>(stop - start)};
  if (number_ == 1 && line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
  if (line.size() > kLimitBytes) {
    throw Error(Code::kBadData, cat("is longer than ", human_bytes(kLimitBytes)),
                line_position(number_));
  }
  if (const auto bad = find_invalid_utf8(line)) {
    throw Error(Code::kBadData, cat("byte ", *bad + 1, " is not UTF-8"), line_position(number_));
  }
  return true;
}

std::string line_position(uint64_t number) { return cat("line ", number); }

}  // namespace berth
