#include "storage/formats/arrow/arrow_messages.h"

#include "storage/base/error.h"
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

namespace {

constexpr std::string_view kMagic = "ARROW1";
constexpr uint32_t kContinuation = 0xFFFFFFFF;

[[noreturn]] void refuse_feather_v1() {
  throw Error(Code::kBadData, "is a Feather file of version 1, which berth does not read", "",
              "convert it: pandas.read_feather(\"old.feather\").to_feather(\"new.feather\")");
}

// Before version 0.15 a stream began with the size of its schema, which any text could be.
bool begins_message(Bytes file) {
  if (file.size() < 4) return false;
  const uint32_t size = Cursor(file).u32();
  return size == kContinuation || size < file.size();
}

}  // namespace

Messages::Messages(Bytes file) : file_(file) {
  const std::string_view text = as_text(file);
  if (text.starts_with("FEA1")) refuse_feather_v1();
  is_file_ = text.starts_with(kMagic);
  is_file_ ? open_file() : open_stream();
}

void Messages::open_file() {
  constexpr size_t kHead = 8, kTail = 4 + 6;
  if (file_.size() < kHead + kTail || !as_text(file_).ends_with(kMagic)) {
    fail_damaged("the file does not end as an Arrow file does");
  }
  const size_t end = file_.size() - kTail;
  Cursor tail(file_.subspan(end));
  const uint32_t size = tail.u32();
  if (size > end - kHead) fail_at_byte(end, cat("a footer of ", size, " bytes"));
  const FlatTable footer = FlatTable::root(file_.subspan(end - size, size));
  schema_ = footer.table(1);
  schema_size_ = size;
  if (!schema_) fail_damaged("the footer has no schema");
  constexpr size_t kBlockSize = 24;
  add_blocks(footer.vector(2, kBlockSize), end - size);
  add_blocks(footer.vector(3, kBlockSize), end - size);
}

// A block: i64 offset, i32 size of the metadata, 4 unused bytes, i64 size of the body.
void Messages::add_blocks(const FlatVector& blocks, size_t end) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto offset = blocks.number<uint64_t>(i), body = blocks.number<uint64_t>(i, 16);
    const auto metadata = blocks.number<uint32_t>(i, 8);
    if (offset > end || metadata > end - offset || body > end - offset - metadata) {
      fail_damaged(cat("block ", i, " lies outside the file"));
    }
    blocks_.push_back({offset, metadata, body});
  }
}

void Messages::open_stream() {
  if (file_.empty()) throw Error(Code::kBadData, "is empty");
  const auto first = begins_message(file_) ? message_at(0) : std::nullopt;
  if (!first || first->type != MessageType::kSchema) {
    throw Error(Code::kBadData, "does not begin as a file or stream of Arrow does", "",
                "give the file the suffix of its format");
  }
  schema_ = first->header;
  schema_size_ = first->metadata_size;
  offset_ = first->size;
}

std::optional<Message> Messages::message_at(uint64_t offset) const {
  Cursor cursor(file_.subspan(offset));
  if (cursor.at_end()) fail_at_byte(offset, "the stream ends without the mark of its end");
  uint32_t size = cursor.u32();
  if (size == kContinuation) size = cursor.u32();
  if (size == 0) {
    if (!cursor.at_end()) fail_at_byte(offset + cursor.offset(), "bytes behind the stream's end");
    return std::nullopt;
  }
  const Bytes metadata = cursor.take(size);
  const FlatTable message = FlatTable::root(metadata);
  const auto type = message.number<uint8_t>(1, 0);
  const auto header = message.table(2);
  if (type < 1 || !header) fail_at_byte(offset, "a message without a header");
  if (type > 3) throw Error(Code::kBadData, "holds a tensor, not a table");
  const Bytes body = cursor.take(message.number<uint64_t>(3, 0));
  return Message{.type = static_cast<MessageType>(type),
                 .header = *header,
                 .metadata_size = metadata.size(),
                 .body = body,
                 .begin = offset,
                 .size = cursor.offset()};
}

std::optional<Message> Messages::next() {
  if (is_file_ && next_block_ == blocks_.size()) return std::nullopt;
  const uint64_t offset = is_file_ ? blocks_[next_block_].offset : offset_;
  auto message = message_at(offset);
  if (is_file_) {
    const Block& block = blocks_[next_block_++];
    if (!message || message->size > block.metadata_size + block.body_size) {
      fail_at_byte(offset, "a message has another size than the footer says");
    }
  } else if (message) {
    offset_ += message->size;
  }
  if (message && message->type == MessageType::kSchema) {
    fail_at_byte(offset, "a second schema");
  }
  return message;
}

}  // namespace berth::arrow
