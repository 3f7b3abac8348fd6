#include "storage/formats/snappy.h"

#include <cstring>
#include <string>

#include "storage/base/text.h"
#include "storage/formats/damage.h"

namespace berth {
namespace {

// Three bytes encode a copy of at most 64 bytes, which bounds the expansion.
constexpr uint64_t kLargestGrowth = 22;

// Elements are short: in English text, most have fewer than 16 bytes. Where both sides have room
// for one more word, elements are copied by whole words. The next element overwrites what is too
// much.
constexpr size_t kWord = 16;

// `from` and `to` must be at least a word apart, or not overlap.
void copy_words(std::byte* to, const std::byte* from, size_t size) {
  for (size_t i = 0; i < size; i += kWord) std::memcpy(to + i, from + i, kWord);
}

class Decoder {
 public:
  Decoder(Bytes compressed, size_t begin, std::span<std::byte> out)
      : begin_(compressed.data()),
        in_(compressed.data() + begin),
        in_end_(compressed.data() + compressed.size()),
        out_begin_(out.data()),
        out_(out.data()),
        out_end_(out.data() + out.size()) {}

  void decode() {
    while (in_ != in_end_) {
      const auto tag = std::to_integer<uint32_t>(*in_++);
      (tag & 3) == 0 ? read_literal(tag) : read_copy(tag);
    }
    if (out_ != out_end_) {
      fail(cat("holds ", written(), " of the ", out_end_ - out_begin_,
               " bytes that were announced"));
    }
  }

 private:
  size_t in_left() const { return static_cast<size_t>(in_end_ - in_); }
  size_t out_left() const { return static_cast<size_t>(out_end_ - out_); }
  size_t written() const { return static_cast<size_t>(out_ - out_begin_); }

  [[noreturn]] void fail(const std::string& what) const {
    fail_at_byte(static_cast<uint64_t>(in_ - begin_), what);
  }

  void require_room(size_t size) const {
    if (size <= out_left()) return;
    fail(cat("more than the ", out_end_ - out_begin_, " bytes that were announced"));
  }

  // The next `size` bytes, at most 4, as a number.
  uint32_t little_endian(size_t size) {
    uint32_t value = 0;
    if (in_left() >= sizeof value) {
      std::memcpy(&value, in_, sizeof value);
      value &= 0xFFFFFFFFu >> (8 * (sizeof value - size));
    } else {
      if (size > in_left()) fail("an element ends too early");
      for (size_t i = 0; i < size; ++i) value |= std::to_integer<uint32_t>(in_[i]) << (8 * i);
    }
    in_ += size;
    return value;
  }

  void read_literal(uint32_t tag) {
    constexpr uint32_t kInTag = 60;
    size_t size = (tag >> 2) + 1;
    if (size > kInTag) size = size_t{little_endian(size - kInTag)} + 1;
    if (in_left() >= size + kWord && out_left() >= size + kWord) {
      copy_words(out_, in_, size);
    } else {
      if (size > in_left()) fail("a literal ends too early");
      require_room(size);
      std::memcpy(out_, in_, size);
    }
    in_ += size;
    out_ += size;
  }

  void read_copy(uint32_t tag) {
    switch (tag & 3) {
      case 1:
        return copy(((tag >> 2) & 7) + 4, tag >> 5 << 8 | little_endian(1));
      case 2:
        return copy((tag >> 2) + 1, little_endian(2));
      default:
        return copy((tag >> 2) + 1, little_endian(4));
    }
  }

  // A copy may overlap the bytes that it is producing.
  void copy(size_t size, size_t offset) {
    if (offset == 0 || offset > written()) {
      fail(cat("a copy from ", offset, " bytes back, where there are ", written()));
    }
    const std::byte* from = out_ - offset;
    if (offset >= kWord && out_left() >= size + kWord) {
      copy_words(out_, from, size);
    } else {
      require_room(size);
      for (size_t i = 0; i < size; ++i) out_[i] = from[i];
    }
    out_ += size;
  }

  const std::byte* const begin_;
  const std::byte* in_;
  const std::byte* const in_end_;
  std::byte* const out_begin_;
  std::byte* out_;
  std::byte* const out_end_;
};

}  // namespace

void snappy_decode(Bytes compressed, std::vector<std::byte>& out) {
  Cursor input(compressed);
  const uint64_t size = input.varint();
  if (size > compressed.size() * kLargestGrowth) {
    input.fail(cat(compressed.size(), " bytes that claim to hold ", size));
  }
  out.resize(size);
  Decoder(compressed, input.offset(), out).decode();
}

}  // namespace berth
