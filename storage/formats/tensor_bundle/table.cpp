#include "storage/formats/tensor_bundle/table.h"

#include <algorithm>
#include <string>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"
#include "storage/formats/snappy.h"

namespace berth {
namespace {

constexpr size_t kTrailerSize = 5;  // type byte and checksum
constexpr uint64_t kMostEntries = 1'000'000, kLargestKey = uint64_t{1} << 14;
constexpr uint64_t kMostKeyBytes = uint64_t{1} << 27, kMostBlockBytes = uint64_t{1} << 25;

struct Handle {
  uint64_t offset = 0, size = 0;
};

std::string place(const Handle& handle) { return cat("block at byte ", handle.offset); }

Handle read_handle(Cursor& cursor) {
  const uint64_t offset = cursor.varint();
  return {.offset = offset, .size = cursor.varint()};
}

// Returns the content of one block, borrowed from the file or, if it was compressed, from
// `unpacked`.
Bytes read_block(Bytes file, const Handle& handle, std::vector<std::byte>& unpacked) {
  const uint64_t end = file.size() - kTableFooterSize;
  if (handle.offset > end || handle.size > end - handle.offset ||
      end - handle.offset - handle.size < kTrailerSize) {
    throw Error(Code::kCorrupt,
                cat("reaches to byte ", handle.offset, " + ", handle.size, ", past ", end),
                place(handle), kFetchAgain);
  }
  const Bytes content = file.subspan(handle.offset, handle.size);
  Cursor trailer(file.subspan(handle.offset + handle.size, kTrailerSize));
  const uint8_t type = trailer.u8();
  const uint32_t expected = crc32c_unmask(trailer.u32());
  if (crc32c(file.subspan(handle.offset, handle.size + 1)) != expected) {
    throw Error(Code::kCorrupt, "its checksum does not match", place(handle), kFetchAgain);
  }
  if (type == 0) return content;
  if (type != 1) {
    throw Error(Code::kCorrupt, cat("compression type ", int{type}, ", neither raw nor snappy"),
                place(handle));
  }
  snappy_decode(content, unpacked);
  return unpacked;
}

// The block without its restart points, which are only needed to search it.
Bytes entries_of(Bytes block) {
  constexpr size_t kWordBytes = sizeof(uint32_t);
  if (block.size() < kWordBytes) throw Error(Code::kCorrupt, "ends before its restart points");
  const uint64_t restarts = Cursor(block.last(kWordBytes)).u32();
  if (restarts > block.size() / kWordBytes - 1) {
    throw Error(Code::kCorrupt, cat(restarts, " restart points in ", block.size(), " bytes"));
  }
  return block.first(block.size() - kWordBytes * (restarts + 1));
}

// Visits the entries of several blocks in order and checks that the keys ascend.
class EntryWalk {
 public:
  template <typename Visit>
  void walk(Bytes block, Visit visit) {
    Cursor cursor(entries_of(block));
    std::string key;
    while (!cursor.at_end()) {
      const uint64_t shared = cursor.varint(), unshared = cursor.varint();
      const uint64_t value_size = cursor.varint();
      if (shared > key.size()) {
        cursor.fail(cat("a key shares ", shared, " bytes with one of ", key.size()));
      }
      if (unshared > kLargestKey || shared + unshared > kLargestKey) {
        cursor.fail(cat("a key of more than ", kLargestKey, " bytes"));
      }
      key.resize(shared);
      key += as_text(cursor.take(unshared));
      require_order(cursor, key);
      require_room(key.size());
      visit(key, cursor.take(value_size));
    }
  }

  const std::string& last_key() const { return last_key_; }

 private:
  void require_order(const Cursor& cursor, const std::string& key) {
    if (entries_ != 0 && key <= last_key_) {
      cursor.fail(cat("key ", quoted(key), " after ", quoted(last_key_)));
    }
    last_key_ = key;
  }

  void require_room(uint64_t key_size) {
    if (++entries_ > kMostEntries) {
      throw Error(Code::kMemory, cat("more than ", kMostEntries, " entries"));
    }
    key_bytes_ += key_size;
    if (key_bytes_ > kMostKeyBytes) {
      throw Error(Code::kMemory, cat("more than ", human_bytes(kMostKeyBytes), " of names"));
    }
  }

  std::string last_key_;
  uint64_t entries_ = 0, key_bytes_ = 0;
};

struct Footer {
  Handle metaindex, index;
};

Footer read_footer(Bytes file) {
  if (file.size() < kTableFooterSize) {
    throw Error(Code::kCorrupt,
                cat("ends early: ", file.size(), " bytes, less than a footer's ", kTableFooterSize),
                cat("byte ", file.size()), kFetchAgain);
  }
  const size_t begin = file.size() - kTableFooterSize;
  const Bytes handles = file.subspan(begin, kTableHandlesSize);
  if (Cursor(file.subspan(begin + kTableHandlesSize)).u64() != kTableMagic) {
    throw Error(Code::kCorrupt, "the magic number at the end of the table is wrong",
                cat("byte ", begin + kTableHandlesSize),
                "check that it is the complete .index file of a TensorFlow checkpoint");
  }
  Cursor cursor(handles);
  Footer footer{.metaindex = read_handle(cursor), .index = read_handle(cursor)};
  const Bytes padding = handles.subspan(cursor.offset());
  if (std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{}; })) {
    throw Error(Code::kCorrupt, "the footer's padding is not zero",
                cat("byte ", begin + cursor.offset()), kFetchAgain);
  }
  return footer;
}

}  // namespace

void read_table(Bytes file, const std::function<void(std::string_view, Bytes)>& visit) {
  const Footer footer = read_footer(file);
  std::vector<std::byte> unpacked_index, unpacked;
  read_block(file, footer.metaindex, unpacked);  // holds nothing, but is checked for damage
  const Bytes index = read_block(file, footer.index, unpacked_index);

  EntryWalk blocks, entries;
  uint64_t end = 0;  // where the previous block ended
  uint64_t block_bytes = 0;
  const auto read_data = [&](const std::string& separator, const Handle& handle) {
    if (handle.offset < end) {
      throw Error(Code::kCorrupt, cat("starts before the one before it ends, at ", end));
    }
    end = handle.offset + handle.size;
    const Bytes block = read_block(file, handle, unpacked);
    block_bytes += block.size();
    if (block_bytes > kMostBlockBytes) {
      throw Error(Code::kMemory, cat("more than ", human_bytes(kMostBlockBytes), " of entries"));
    }
    entries.walk(block, visit);
    if (separator < entries.last_key()) {
      throw Error(Code::kCorrupt, cat("its last key is beyond ", quoted(separator)));
    }
  };
  const auto located = [](const Handle& handle, const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      if (error.where().starts_with("block") || error.where().starts_with("tensor")) throw;
      throw error.at(place(handle));
    }
  };
  located(footer.index, [&] {
    blocks.walk(index, [&](const std::string& separator, Bytes value) {
      Cursor cursor(value);
      const Handle handle = read_handle(cursor);
      located(handle, [&] { read_data(separator, handle); });
    });
  });
}

namespace {

constexpr size_t kBlockSize = 262144;

void append_varint(std::vector<std::byte>& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::byte>((value & 0x7F) | 0x80));
  bytes.push_back(static_cast<std::byte>(value));
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
  for (const uint32_t restart : restarts_) append_value(bytes_, restart);
  append_value(bytes_, static_cast<uint32_t>(restarts_.size()));
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
  append_value(block, crc32c_mask(crc32c(block)));
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
  append_value(footer, kTableMagic);
  sink_.write(footer);
}

}  // namespace berth
