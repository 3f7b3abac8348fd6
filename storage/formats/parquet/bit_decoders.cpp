#include "storage/formats/parquet/bit_decoders.h"

#include <algorithm>
#include <cstring>

#include "storage/base/text.h"
#include "storage/formats/parquet/zigzag.h"

namespace berth::parquet {
namespace {

// The 8 bytes at `offset`, of which those behind the end are 0.
uint64_t word_at(Bytes bytes, size_t offset) {
  uint64_t word = 0;
  if (offset < bytes.size()) {
    std::memcpy(&word, bytes.data() + offset, std::min<size_t>(8, bytes.size() - offset));
  }
  return word;
}

}  // namespace

BitReader::BitReader(Bytes bytes, int bit_width) : bytes_(bytes), bit_width_(bit_width) {
  if (bit_width < 0 || bit_width > 64) Cursor(bytes).fail(cat(bit_width, " bits a number"));
}

uint64_t BitReader::next() {
  if (bit_width_ == 0) return 0;
  const uint64_t width = static_cast<uint64_t>(bit_width_);
  if (bit_ + width > bytes_.size() * 8) Cursor({}).fail("packed numbers end too early");
  const size_t offset = bit_ / 8;
  const uint64_t shift = bit_ % 8;
  uint64_t value = word_at(bytes_, offset) >> shift;
  if (shift + width > 64) value |= word_at(bytes_, offset + 8) << (64 - shift);
  bit_ += width;
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

HybridDecoder::HybridDecoder(Bytes bytes, int bit_width) : cursor_(bytes), bit_width_(bit_width) {
  if (bit_width < 0 || bit_width > 32) cursor_.fail(cat(bit_width, " bits a number"));
}

void HybridDecoder::read_header() {
  const uint64_t header = cursor_.varint();
  if (header % 2 == 0) {
    run_ = header / 2;
    run_value_ = 0;
    for (int byte = 0; byte < (bit_width_ + 7) / 8; ++byte) {
      run_value_ |= uint32_t{cursor_.u8()} << (8 * byte);
    }
  } else {
    packed_ = header / 2;
    if (packed_ > UINT64_MAX / 8) cursor_.fail("a run of too many values");
    packed_ *= 8;
  }
}

void HybridDecoder::unpack(uint64_t count) {
  // The last group may be cut short behind the last value that it needs to hold.
  const uint64_t bytes =
      std::min<uint64_t>(count * static_cast<uint64_t>(bit_width_) / 8, cursor_.remaining());
  const uint64_t whole = bit_width_ == 0 ? count : bytes * 8 / static_cast<uint64_t>(bit_width_);
  BitReader bits(cursor_.take(bytes), bit_width_);
  filled_ = static_cast<size_t>(std::min(count, whole));
  if (filled_ == 0) cursor_.fail("packed numbers end too early");
  for (size_t i = 0; i < filled_; ++i) values_[i] = static_cast<uint32_t>(bits.next());
}

void HybridDecoder::fill() {
  while (run_ == 0 && packed_ == 0) read_header();
  place_ = 0;
  if (run_ > 0) {
    filled_ = static_cast<size_t>(std::min<uint64_t>(run_, kBuffered));
    std::fill_n(values_, filled_, run_value_);
    run_ -= filled_;
    return;
  }
  const uint64_t count = std::min<uint64_t>(packed_, kBuffered);  // a multiple of 8
  unpack(count);
  packed_ -= count;
}

DeltaDecoder::DeltaDecoder(Bytes bytes) : cursor_(bytes) {
  const uint64_t block = cursor_.varint();
  miniblocks_ = cursor_.varint();
  count_ = cursor_.varint();
  last_ = static_cast<uint64_t>(from_zigzag(cursor_.varint()));
  constexpr uint64_t kLargestBlock = uint64_t{1} << 31;
  if (block == 0 || block > kLargestBlock || miniblocks_ == 0 || block % miniblocks_ != 0 ||
      block / miniblocks_ % 8 != 0) {
    cursor_.fail(cat("blocks of ", block, " numbers in ", miniblocks_, " parts"));
  }
  in_miniblock_ = block / miniblocks_;
}

void DeltaDecoder::next_miniblock() {
  if (widths_.empty()) {
    smallest_ = static_cast<uint64_t>(from_zigzag(cursor_.varint()));
    widths_ = cursor_.take(miniblocks_);
  }
  const int bit_width = std::to_integer<int>(widths_.front());
  widths_ = widths_.subspan(1);
  if (bit_width > 64) cursor_.fail(cat(bit_width, " bits a number"));
  deltas_ =
      BitReader(cursor_.take(in_miniblock_ / 8 * static_cast<uint64_t>(bit_width)), bit_width);
  left_ = in_miniblock_;
}

int64_t DeltaDecoder::next() {
  if (read_ == count_) cursor_.fail(cat("more than ", count_, " numbers are asked for"));
  if (read_++ > 0) {
    if (left_ == 0) next_miniblock();
    --left_;
    last_ += smallest_ + deltas_.next();
  }
  return static_cast<int64_t>(last_);
}

size_t DeltaDecoder::skip_to_end() {
  while (read_ < count_) next();
  return cursor_.offset();
}

}  // namespace berth::parquet
