#include "storage/formats/arrow/flat_buffer.h"

#include "storage/base/text.h"
#include "storage/formats/damage.h"

namespace berth::arrow {
namespace {

[[noreturn]] void fail_metadata(size_t at) {
  fail_damaged(cat("the metadata are damaged at their byte ", at));
}

void require_inside(Bytes buffer, size_t at, uint64_t size) {
  if (at > buffer.size() || size > buffer.size() - at) fail_metadata(at);
}

// Follows the offset that stands at `at`.
size_t target_of(Bytes buffer, size_t at) {
  require_inside(buffer, at, 4);
  uint32_t offset;
  std::memcpy(&offset, buffer.data() + at, sizeof(offset));
  if (offset < 4) fail_metadata(at);
  require_inside(buffer, at + offset, 4);
  return at + offset;
}

}  // namespace

FlatTable FlatTable::root(Bytes buffer) { return {buffer, target_of(buffer, 0)}; }

FlatTable::FlatTable(Bytes buffer, size_t position) : buffer_(buffer), position_(position) {
  require_inside(buffer, position, 4);
  const int64_t vtable = static_cast<int64_t>(position) - load<int32_t>(position);
  if (vtable < 0) fail_metadata(position);
  vtable_ = static_cast<size_t>(vtable);
  require_inside(buffer, vtable_, 4);
  vtable_size_ = load<uint16_t>(vtable_);
  size_ = load<uint16_t>(vtable_ + 2);
  if (vtable_size_ < 4 || size_ < 4) fail_metadata(vtable_);
  require_inside(buffer, vtable_, vtable_size_);
  require_inside(buffer, position_, size_);
}

size_t FlatTable::place(int field, size_t width) const {
  const size_t entry = 4 + 2 * static_cast<size_t>(field);
  if (entry + 2 > vtable_size_) return 0;
  const size_t offset = load<uint16_t>(vtable_ + entry);
  if (offset == 0) return 0;
  if (offset < 4 || offset + width > size_) fail_metadata(vtable_ + entry);
  return position_ + offset;
}

std::optional<FlatTable> FlatTable::table(int field) const {
  const size_t at = place(field, 4);
  if (at == 0) return std::nullopt;
  return FlatTable(buffer_, target_of(buffer_, at));
}

FlatVector FlatTable::vector(int field, size_t width) const {
  FlatVector vector;
  const size_t at = place(field, 4);
  if (at == 0) return vector;
  const size_t begin = target_of(buffer_, at);
  vector.buffer_ = buffer_;
  vector.begin_ = begin + 4;
  vector.count_ = load<uint32_t>(begin);
  vector.width_ = width;
  require_inside(buffer_, vector.begin_, uint64_t{vector.count_} * width);
  return vector;
}

std::string_view FlatTable::text(int field) const {
  const FlatVector bytes = vector(field, 1);
  return as_text(bytes.buffer_.subspan(bytes.begin_, bytes.count_));
}

FlatTable FlatVector::table(size_t index) const {
  return {buffer_, target_of(buffer_, begin_ + index * width_)};
}

}  // namespace berth::arrow
