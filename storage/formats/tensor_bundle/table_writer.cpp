#include "storage/formats/tensor_bundle/table_writer.h"

#include <algorithm>

#include "storage/base/crc32c.h"
#include "storage/formats/tensor_bundle/table_reader.h"

namespace berth {
namespace {

constexpr size_t kBlockSize = 262144;

void append_varint(std::vector<std::byte>& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>((value & 0x7F) | 0x80));
  bytes.push_back(static_cast<std::byte>(value));
}

template <typename T>
void append_fixed(std::vector<std::byte>& bytes, T value) {
  const auto raw = std::as_bytes(std::span(&value, 1));
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

// Returns a short key k with low <= k < high.
std::string shortest_between(std::string_view low, std::string_view high) {
  const auto [differs, other] = std::mismatch(low.begin(), low.end(), high.begin(), high.end());
  if (differs == low.end() || other == high.end()) return std::string(low);
  const auto byte = static_cast<unsigned char>(*differs);
  if (byte == 0xFF || byte + 1 >= static_cast<unsigned char>(*other)) return std::string(low);
  return std::string(low.begin(), differs) + static_cast<char>(byte + 1);
}

// Returns a short key that is not less than `key`.
std::string short_successor(std::string_view key) {
  const size_t at = key.find_first_not_of('\xFF');
  if (at == std::string_view::npos) return std::string(key);
  return std::string(key.substr(0, at)) + static_cast<char>(key[at] + 1);
}

}  // namespace

void TableBlockBuilder::add(std::string_view key, Bytes value) {
  size_t shared = 0;
  if (since_restart_ == restart_interval_) {
    restarts_.push_back(static_cast<uint32_t>(bytes_.size()));
    since_restart_ = 0;
  } else {
    const auto [differs, unused] =
        std::mismatch(key.begin(), key.end(), last_key_.begin(), last_key_.end());
    shared = static_cast<size_t>(differs - key.begin());
  }
  append_varint(bytes_, shared);
  append_varint(bytes_, key.size() - shared);
  append_varint(bytes_, value.size());
  const Bytes rest = as_bytes(key.substr(shared));
  bytes_.insert(bytes_.end(), rest.begin(), rest.end());
  bytes_.insert(bytes_.end(), value.begin(), value.end());
  last_key_ = key;
  ++since_restart_;
}

size_t TableBlockBuilder::size_bytes() const {
  return bytes_.size() + (restarts_.size() + 1) * sizeof(uint32_t);
}

std::vector<std::byte> TableBlockBuilder::finish() {
  for (const uint32_t restart : restarts_) append_fixed(bytes_, restart);
  append_fixed(bytes_, static_cast<uint32_t>(restarts_.size()));
  std::vector<std::byte> block = std::move(bytes_);
  *this = TableBlockBuilder(restart_interval_);
  return block;
}

std::vector<std::byte> TableWriter::write_block(TableBlockBuilder& builder) {
  std::vector<std::byte> block = builder.finish();
  std::vector<std::byte> handle;
  append_varint(handle, offset_);
  append_varint(handle, block.size());
  block.push_back(std::byte{0});  // not compressed
  append_fixed(block, crc32c_mask(crc32c(block)));
  sink_.write(block);
  offset_ += block.size();
  return handle;
}

void TableWriter::index_block(std::string_view separator) {
  if (!handle_.empty()) index_.add(separator, handle_);
  handle_.clear();
}

void TableWriter::add(std::string_view key, Bytes value) {
  if (!handle_.empty()) index_block(shortest_between(last_key_, key));
  data_.add(key, value);
  last_key_ = key;
  if (data_.size_bytes() >= kBlockSize) handle_ = write_block(data_);
}

void TableWriter::finish() {
  if (!data_.empty()) handle_ = write_block(data_);
  index_block(short_successor(last_key_));
  TableBlockBuilder nothing(1);
  std::vector<std::byte> footer = write_block(nothing);
  const std::vector<std::byte> index = write_block(index_);
  footer.insert(footer.end(), index.begin(), index.end());
  footer.resize(kTableHandlesSize);
  append_fixed(footer, kTableMagic);
  sink_.write(footer);
}

}  // namespace berth
