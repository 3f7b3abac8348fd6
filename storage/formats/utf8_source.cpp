#include "storage/formats/utf8_source.h"

#include <algorithm>
#include <string>
#include <vector>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/utf8.h"

namespace berth {
namespace {

class Utf8Source final : public ByteSource {
 public:
  explicit Utf8Source(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  size_t read(std::span<std::byte> buffer) override {
    if (!has_begun_) begin();
    while (place_ == ready_.size()) {
      if (form_ == Form::kBytes) return source_->read(buffer);
      if (!convert()) return 0;
    }
    const Bytes left = as_bytes(std::string_view(ready_).substr(place_));
    const size_t count = std::min(buffer.size(), left.size());
    std::copy_n(left.begin(), count, buffer.begin());
    place_ += count;
    return count;
  }

 private:
  enum class Form { kBytes, kLittleEndian, kBigEndian };

  void begin() {
    has_begun_ = true;
    std::byte mark[2];
    size_t size = 0;
    while (size < std::size(mark)) {
      const size_t got = source_->read(std::span(mark).subspan(size));
      if (got == 0) break;
      size += got;
    }
    const std::string_view text = as_text(std::span(mark, size));
    if (text == "\xFF\xFE") form_ = Form::kLittleEndian;
    if (text == "\xFE\xFF") form_ = Form::kBigEndian;
    if (form_ == Form::kBytes) ready_ = text;
    offset_ = size;
  }

  // Makes the text of the next bytes. Returns false at the end.
  bool convert() {
    ready_.clear();
    place_ = 0;
    const size_t got = source_->read(std::span(bytes_).subspan(waiting_));
    const size_t size = waiting_ + got;
    if (got == 0 && (size > 0 || high_ != 0)) fail("ends within a character");
    for (size_t i = 0; i + 1 < size; i += 2) add_unit(unit_at(i));
    waiting_ = size % 2;
    if (waiting_ == 1) bytes_[0] = bytes_[size - 1];
    return got > 0;
  }

  uint32_t unit_at(size_t i) const {
    const auto first = std::to_integer<uint32_t>(bytes_[i]);
    const auto second = std::to_integer<uint32_t>(bytes_[i + 1]);
    return form_ == Form::kLittleEndian ? second << 8 | first : first << 8 | second;
  }

  // Characters above U+FFFF are two units: a high surrogate and a low one.
  void add_unit(uint32_t unit) {
    const bool is_high = unit >= 0xD800 && unit < 0xDC00, is_low = unit >= 0xDC00 && unit < 0xE000;
    if ((high_ != 0) != is_low) fail("has half of a surrogate pair");
    offset_ += 2;
    if (is_high) {
      high_ = unit;
    } else {
      append_utf8(is_low ? 0x10000 + ((high_ - 0xD800) << 10) + (unit - 0xDC00) : unit, ready_);
      high_ = 0;
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::kBadData, "as UTF-16 it " + what, cat("byte ", offset_));
  }

  const std::unique_ptr<ByteSource> source_;
  Form form_ = Form::kBytes;
  bool has_begun_ = false;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(size_t{1} << 16);
  size_t waiting_ = 0;   // 1: the first byte of a unit is in bytes_
  uint32_t high_ = 0;    // a high surrogate that waits for the low one; 0: none
  uint64_t offset_ = 0;  // of the next unit, in bytes of the source
  std::string ready_;    // UTF-8 that is returned from place_ on
  size_t place_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> as_utf8(std::unique_ptr<ByteSource> source) {
  return std::make_unique<Utf8Source>(std::move(source));
}

}  // namespace berth
