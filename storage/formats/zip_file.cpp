#include "storage/formats/zip_file.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <climits>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/formats/damage.h"

namespace berth {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kLocator64 = 0x07064b50;
constexpr size_t kEndSize = 22, kLocatorSize = 20, kLongestComment = 65535;
constexpr uint64_t kLargestDirectory = uint64_t{64} << 20;
constexpr uint16_t kEncrypted = 1, kZip64Extra = 1;
constexpr uint16_t kStored = 0, kDeflated = 8;  // methods of compression
constexpr uint32_t kInExtra = 0xFFFFFFFF;       // the value is in the zip64 extra field

[[noreturn]] void fail_entry(std::string_view name, const std::string& what) {
  throw Error(Code::kCorrupt, what, cat("entry ", quoted(name)), kFetchAgain);
}

struct Directory {
  uint64_t offset = 0, size = 0, entries = 0;
  uint64_t end = 0;  // where the records after it begin
};

// Finds the last end record whose comment extends exactly to the end of the file.
uint64_t find_end(Bytes file) {
  const size_t lowest = file.size() - std::min(file.size(), kEndSize + kLongestComment);
  for (size_t at = file.size(); at-- > lowest;) {
    Cursor cursor(file.subspan(at));
    if (cursor.remaining() < kEndSize || cursor.u32() != kEnd) continue;
    cursor.skip(kEndSize - 6);
    if (cursor.u16() == cursor.remaining()) return at;
  }
  fail_at_byte(file.size(), "no end of a zip directory: the file ends early");
}

Directory find_directory(Bytes file) {
  Directory directory;
  directory.end = find_end(file);
  Cursor end(file.subspan(directory.end + 4));
  if (end.u16() != 0 || end.u16() != 0)
    fail_at_byte(directory.end, "is one part of a split zip file");
  end.skip(2);
  directory.entries = end.u16();
  directory.size = end.u32();
  directory.offset = end.u32();
  if (directory.end < kLocatorSize) return directory;
  Cursor locator(file.subspan(directory.end - kLocatorSize));
  if (locator.u32() != kLocator64) return directory;

  locator.skip(4);
  const uint64_t at = locator.u64();
  if (at > directory.end - kLocatorSize)
    fail_at_byte(directory.end, "a zip64 record after the end record");
  Cursor record(file.subspan(at, directory.end - kLocatorSize - at));
  if (record.remaining() < 56 || record.u32() != kEnd64) fail_at_byte(at, "no zip64 end record");
  if (record.u64() != record.remaining()) fail_at_byte(at, "a zip64 end record with a wrong size");
  record.skip(12);  // versions, disks
  record.skip(8);
  directory.entries = record.u64();
  directory.size = record.u64();
  directory.offset = record.u64();
  directory.end = at;
  return directory;
}

// One entry of the central directory.
struct Listed {
  std::string_view name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t stored_size = 0, size = 0, header = 0;
};

// Reads the values that do not fit 32 bits from the extra fields, in the order of the fixed fields.
void read_extra(Cursor extra, Listed& entry) {
  while (extra.remaining() >= 4) {
    const uint16_t tag = extra.u16();
    Cursor field(extra.take(extra.u16()));
    if (tag != kZip64Extra) continue;
    for (uint64_t* value : {&entry.size, &entry.stored_size, &entry.header}) {
      if (*value == kInExtra) *value = field.u64();
    }
  }
}

Listed read_listed(Cursor& cursor) {
  Listed entry;
  if (cursor.u32() != kCentral) cursor.fail("not an entry of the zip directory");
  cursor.skip(4);  // versions
  entry.flags = cursor.u16();
  entry.method = cursor.u16();
  cursor.skip(4);  // time
  entry.crc = cursor.u32();
  entry.stored_size = cursor.u32();
  entry.size = cursor.u32();
  const uint16_t name_size = cursor.u16(), extra_size = cursor.u16(), comment_size = cursor.u16();
  cursor.skip(8);  // disk, attributes
  entry.header = cursor.u32();
  entry.name = as_text(cursor.take(name_size));
  read_extra(Cursor(cursor.take(extra_size)), entry);
  cursor.skip(comment_size);
  return entry;
}

ZipFile::Entry locate(Bytes before_directory, const Listed& listed) {
  if (listed.flags & kEncrypted) {
    throw Error(Code::kBadData, "is encrypted", cat("entry ", quoted(listed.name)));
  }
  if (listed.method != kStored && listed.method != kDeflated) {
    throw Error(Code::kBadData, "is compressed by another method than deflate",
                cat("entry ", quoted(listed.name)), "pack it again");
  }
  if (listed.method == kStored && listed.stored_size != listed.size)
    fail_entry(listed.name, "has different stored and unpacked sizes");
  if (listed.header > before_directory.size())
    fail_entry(listed.name, "begins after the directory");
  Cursor local(before_directory);
  local.skip(listed.header);
  try {
    if (local.u32() != kLocal) fail_entry(listed.name, cat("no header at byte ", listed.header));
    local.skip(22);
    const uint16_t name_size = local.u16(), extra_size = local.u16();
    if (as_text(local.take(name_size)) != listed.name)
      fail_entry(listed.name, "has different names in its header and in the directory");
    local.skip(extra_size);
    const Bytes data = local.take(listed.stored_size);
    return {.name = listed.name,
            .begin = listed.header,
            .end = local.offset(),
            .data = data,
            .size = listed.size,
            .is_deflated = listed.method == kDeflated,
            .crc = listed.crc};
  } catch (const Error& error) {
    if (error.where().starts_with("entry")) throw;
    fail_entry(listed.name, "reaches into the directory");
  }
}

void require_apart(std::vector<ZipFile::Entry>& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const auto overlap = std::adjacent_find(
      entries.begin(), entries.end(), [](const auto& a, const auto& b) { return b.begin < a.end; });
  if (overlap != entries.end()) {
    fail_entry(overlap->name, cat("overlaps entry ", quoted((overlap + 1)->name)));
  }
}

}  // namespace

ZipFile::ZipFile(Bytes file) {
  const Directory directory = find_directory(file);
  if (directory.size > kLargestDirectory) {
    fail_at_byte(directory.end, cat("a directory of ", human_bytes(directory.size)));
  }
  if (directory.offset > directory.end || directory.end - directory.offset != directory.size) {
    fail_at_byte(directory.end, "the zip directory is not where its end record says");
  }
  Cursor cursor(file.first(directory.end));
  cursor.skip(directory.offset);
  while (!cursor.at_end()) {
    entries_.push_back(locate(file.first(directory.offset), read_listed(cursor)));
  }
  if (entries_.size() != directory.entries) {
    fail_at_byte(directory.end,
                 cat("a zip directory of ", entries_.size(), " entries, not ", directory.entries));
  }
  require_apart(entries_);
  std::sort(entries_.begin(), entries_.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto twice =
      std::adjacent_find(entries_.begin(), entries_.end(),
                         [](const auto& a, const auto& b) { return a.name == b.name; });
  if (twice != entries_.end()) fail_entry(twice->name, "appears twice in the zip directory");
}

const ZipFile::Entry* ZipFile::find(std::string_view name) const {
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [](const Entry& entry, std::string_view key) { return entry.name < key; });
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

bool is_zip(Bytes file) { return file.size() >= 4 && Cursor(file).u32() == kLocal; }

namespace {

class RangeSource final : public ByteSource {
 public:
  RangeSource(RandomAccessSource& file, uint64_t offset, uint64_t size)
      : file_(file), bytes_(file.view()->subspan(offset, size)), offset_(offset) {}

  size_t read(std::span<std::byte> buffer) override {
    const size_t count = std::min(buffer.size(), bytes_.size() - read_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(read_), count, buffer.begin());
    read_ += count;
    constexpr uint64_t kReleasedAtOnce = uint64_t{1} << 20;
    if (read_ - released_ >= kReleasedAtOnce) {
      file_.release(offset_ + released_, read_ - released_);
      released_ = read_;
    }
    return count;
  }

 private:
  RandomAccessSource& file_;
  const Bytes bytes_;
  const uint64_t offset_;
  size_t read_ = 0, released_ = 0;
};

// Inflates data without a header or a checksum of their own (RFC 1951).
class InflatedSource final : public ByteSource {
 public:
  explicit InflatedSource(std::unique_ptr<ByteSource> deflated) : deflated_(std::move(deflated)) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
      throw Error(Code::kMemory, "no memory for inflating");
    }
  }
  ~InflatedSource() override { inflateEnd(&stream_); }
  InflatedSource(const InflatedSource&) = delete;
  InflatedSource& operator=(const InflatedSource&) = delete;

  size_t read(std::span<std::byte> buffer) override {
    const auto wanted = static_cast<uInt>(std::min<size_t>(buffer.size(), UINT_MAX));
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = wanted;
    while (stream_.avail_out == wanted && !at_end_) {
      if (stream_.avail_in == 0) {
        const size_t count = deflated_->read(input_);
        if (count == 0) fail_damaged("its compressed data end too early");
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(count);
      }
      const int result = inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_MEM_ERROR) throw Error(Code::kMemory, "no memory for inflating");
      if (result != Z_OK && result != Z_STREAM_END) fail_damaged("its compressed data are damaged");
      at_end_ = result == Z_STREAM_END;
    }
    return wanted - stream_.avail_out;
  }

 private:
  const std::unique_ptr<ByteSource> deflated_;
  std::array<std::byte, size_t{1} << 16> input_;
  z_stream stream_{};
  bool at_end_ = false;
};

class CheckedSource final : public ByteSource {
 public:
  CheckedSource(std::unique_ptr<ByteSource> data, const ZipFile::Entry& entry)
      : data_(std::move(data)), wanted_crc_(entry.crc), left_(entry.size) {}

  size_t read(std::span<std::byte> buffer) override {
    const size_t count = data_->read(buffer);
    if (count > left_ || (count == 0 && left_ > 0)) {
      fail_damaged("has another size than the zip directory says");
    }
    left_ -= count;
    crc_ = crc32(buffer.first(count), crc_);
    if (count == 0 && crc_ != wanted_crc_) {
      fail_damaged("its CRC-32 differs from the one in the zip directory");
    }
    return count;
  }

 private:
  const std::unique_ptr<ByteSource> data_;
  const uint32_t wanted_crc_;
  uint64_t left_;
  uint32_t crc_ = 0;
};

}  // namespace

std::unique_ptr<ByteSource> open_range(RandomAccessSource& file, uint64_t offset, uint64_t size) {
  return std::make_unique<RangeSource>(file, offset, size);
}

std::unique_ptr<ByteSource> open_entry(RandomAccessSource& file, const ZipFile::Entry& entry) {
  auto data = open_range(file, entry.end - entry.data.size(), entry.data.size());
  if (entry.is_deflated) data = std::make_unique<InflatedSource>(std::move(data));
  return std::make_unique<CheckedSource>(std::move(data), entry);
}

}  // namespace berth
