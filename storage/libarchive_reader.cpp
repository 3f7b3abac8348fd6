#include "storage/libarchive_reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "storage/base/error.h"
#include "storage/base/text.h"

// A zip file (PKWARE's APPNOTE.TXT, 4.3):
//   entries | table of contents: a header for each entry | zip64 end record and its locator, where
//   a number does not fit the end record | end record | comment
namespace berth {
namespace {

constexpr std::string_view kEntry = "PK\3\4", kHeader = "PK\1\2", kZipEnd = "PK\5\6",
                           kEnd64 = "PK\6\6", kLocator = "PK\6\7";
constexpr size_t kHeaderSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;

[[noreturn]] void corrupt(const std::string& what) {
  throw Error(Code::kCorrupt, what, "", "fetch or pack it again");
}

// Little endian. The bytes exist.
uint64_t number_at(std::string_view file, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(file[at + i]);
  return value;
}

// The end record of an archive, which says where the table of contents is.
struct EndRecord {
  uint64_t entries_here, entries, size, begin;
};

// `end` is where the end record begins. Moves it to where the zip64 end record begins, if there is
// one.
EndRecord read_end_record(std::string_view file, size_t& end) {
  const EndRecord record{number_at(file, end + 8, 2), number_at(file, end + 10, 2),
                         number_at(file, end + 12, 4), number_at(file, end + 16, 4)};
  if (record.entries != 0xFFFF && record.size != 0xFFFFFFFF && record.begin != 0xFFFFFFFF)
    return record;
  if (end < kLocatorSize || !file.substr(end - kLocatorSize).starts_with(kLocator)) return record;
  const uint64_t at = number_at(file, end - kLocatorSize + 8, 8);
  if (at > end - kLocatorSize || end - kLocatorSize - at < kEnd64Size ||
      !file.substr(at).starts_with(kEnd64)) {
    corrupt("has no zip64 end record where its locator says");
  }
  end = at;
  return {number_at(file, at + 24, 8), number_at(file, at + 32, 8), number_at(file, at + 40, 8),
          number_at(file, at + 48, 8)};
}

void require_table(std::string_view file, const EndRecord& record, size_t end) {
  if (record.begin > end || record.size != end - record.begin) {
    corrupt("has a table of contents of another size or place than its end record says");
  }
  std::string_view table = file.substr(record.begin, record.size);
  uint64_t entries = 0;
  for (; !table.empty(); ++entries) {
    if (table.size() < kHeaderSize || !table.starts_with(kHeader)) {
      corrupt(cat("has a damaged table of contents: header ", entries));
    }
    const uint64_t size =
        kHeaderSize + number_at(table, 28, 2) + number_at(table, 30, 2) + number_at(table, 32, 2);
    if (size > table.size()) corrupt(cat("has a damaged table of contents: header ", entries));
    table.remove_prefix(size);
  }
  if (record.entries != entries || record.entries_here != entries) {
    corrupt(cat("has ", entries, " entries, but its end record says ", record.entries));
  }
}

}  // namespace

void require_whole_zip(std::string_view file) {
  size_t end = file.size() < kEndSize ? file.npos : file.rfind(kZipEnd, file.size() - kEndSize);
  if (end == file.npos) corrupt("is not a whole zip archive");
  const uint64_t comment = number_at(file, end + 20, 2);
  if (end + kEndSize + comment != file.size() || (end > 0 && !file.starts_with(kEntry))) {
    corrupt("has bytes before or after the zip archive");
  }
  const EndRecord record = read_end_record(file, end);
  require_table(file, record, end);
}

namespace {

constexpr size_t kTarBlock = 512;

// Sets a UTF-8 locale for this thread. libarchive converts names through the locale, and the "C"
// locale cannot convert other characters than ASCII.
class Utf8Names {
 public:
  Utf8Names() : before_(::uselocale(utf8())) {}
  ~Utf8Names() { ::uselocale(before_); }
  Utf8Names(const Utf8Names&) = delete;
  Utf8Names& operator=(const Utf8Names&) = delete;

 private:
  static locale_t utf8() {
    static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
    return locale;
  }
  const locale_t before_;
};

std::string kind_name(unsigned type) {
  switch (type) {
    case AE_IFLNK:
      return "a symbolic link";
    case AE_IFCHR:
    case AE_IFBLK:
      return "a device";
    case AE_IFIFO:
      return "a named pipe";
    case AE_IFSOCK:
      return "a socket";
    default:
      return "an entry of an unknown kind";
  }
}

}  // namespace

// The callback that libarchive reads from. Each block is filled completely. In a tar file, which
// consists of 512-byte blocks, the bytes that libarchive has not consumed are then all in the last
// one.
struct LibarchiveReader::Input {
  explicit Input(ByteSource& from) : source(from) {}

  size_t fill() {
    block_size = read_fully(source, buffer);
    delivered += block_size;
    return block_size;
  }

  // No exception may pass through libarchive's C code, so it is stored in `failure`.
  static la_ssize_t pull(struct ::archive* archive, void* self, const void** block) {
    auto& input = *static_cast<Input*>(self);
    try {
      *block = input.buffer.data();
      return static_cast<la_ssize_t>(input.fill());
    } catch (...) {
      input.failure = std::current_exception();
      archive_set_error(archive, EIO, "the source failed");
      return -1;
    }
  }

  ByteSource& source;
  std::array<std::byte, 128 * kTarBlock> buffer;
  size_t block_size = 0;
  uint64_t delivered = 0;
  std::exception_ptr failure;
};

void LibarchiveReader::Closer::operator()(struct ::archive* archive) const {
  archive_read_free(archive);
}

LibarchiveReader::LibarchiveReader() : archive_(archive_read_new()) {
  if (!archive_) throw Error(Code::kMemory, "no memory to read the archive");
}

LibarchiveReader::LibarchiveReader(LibarchiveReader&&) noexcept = default;
LibarchiveReader::~LibarchiveReader() = default;

LibarchiveReader LibarchiveReader::tar(ByteSource& uncompressed) {
  LibarchiveReader reader;
  reader.format_ = Format::kTar;
  archive_read_support_format_tar(reader.archive_.get());
  reader.open(uncompressed);
  return reader;
}

LibarchiveReader LibarchiveReader::zip(Bytes whole_file) {
  require_whole_zip(as_text(whole_file));
  LibarchiveReader reader;
  reader.format_ = Format::kZip;
  archive_read_support_format_zip_seekable(reader.archive_.get());
  reader.check(
      archive_read_open_memory(reader.archive_.get(), whole_file.data(), whole_file.size()),
      "is not a zip archive");
  return reader;
}

LibarchiveReader LibarchiveReader::decompressor(ByteSource& compressed, Compression compression) {
  LibarchiveReader reader;
  struct ::archive* const archive = reader.archive_.get();
  reader.format_ = Format::kRaw;
  archive_read_support_format_raw(archive);
  int filter = ARCHIVE_FILTER_BZIP2;
  if (compression == Compression::kBzip2) {
    archive_read_support_filter_bzip2(archive);
  } else if (compression == Compression::kXz) {
    filter = ARCHIVE_FILTER_XZ;
    archive_read_support_filter_xz(archive);
  } else {
    filter = ARCHIVE_FILTER_ZSTD;
    archive_read_support_filter_zstd(archive);
  }
  reader.open(compressed);
  ArchiveEntry whole;
  // Exactly two filters are expected: the decompressor and the source. If the first is missing,
  // libarchive passes the bytes on unchanged; a third would decompress twice.
  if (!reader.next(whole) || archive_filter_count(archive) != 2 ||
      archive_filter_code(archive, 0) != filter) {
    throw Error(Code::kCorrupt, "is not compressed in the format that its name says", "",
                "rename it, or fetch it again");
  }
  return reader;
}

void LibarchiveReader::open(ByteSource& source) {
  input_ = std::make_unique<Input>(source);
  check(archive_read_open(archive_.get(), input_.get(), nullptr, &Input::pull, nullptr),
        "is not an archive");
}

bool LibarchiveReader::next(ArchiveEntry& entry) {
  const Utf8Names utf8_names;
  struct ::archive_entry* raw = nullptr;
  const int result = archive_read_next_header(archive_.get(), &raw);
  if (result == ARCHIVE_EOF) {
    if (format_ == Format::kTar) require_end_of_tar();
    return false;
  }
  check(result, "is not an archive");
  block_ = {};
  entry_offset_ = 0;

  entry = {};
  const char* path = archive_entry_pathname_utf8(raw);
  if (path == nullptr) path = archive_entry_pathname(raw);
  if (path != nullptr) entry.path = path;
  const unsigned type = archive_entry_filetype(raw);
  if (archive_entry_hardlink(raw) != nullptr) {
    entry.kind_name = "a hard link";
  } else if (archive_entry_is_encrypted(raw) != 0) {
    entry.kind_name = "an encrypted file";
  } else if (type == AE_IFREG) {
    entry.kind = ArchiveEntry::Kind::kFile;
  } else if (type == AE_IFDIR) {
    entry.kind = ArchiveEntry::Kind::kDirectory;
  } else {
    entry.kind_name = kind_name(type);
  }
  if (archive_entry_size_is_set(raw)) {
    entry.size = static_cast<uint64_t>(std::max<la_int64_t>(archive_entry_size(raw), 0));
  }
  return true;
}

size_t LibarchiveReader::read(std::span<std::byte> buffer) {
  while (block_.empty()) {
    const void* data = nullptr;
    size_t size = 0;
    la_int64_t offset = 0;
    const int result = archive_read_data_block(archive_.get(), &data, &size, &offset);
    if (result == ARCHIVE_EOF) {
      if (format_ == Format::kRaw) require_nothing_left();
      return 0;
    }
    check(result, "its data are damaged");
    if (size > 0 && offset != static_cast<la_int64_t>(entry_offset_)) {
      throw Error(Code::kCorrupt, "a sparse file", "", "pack it without sparse files");
    }
    block_ = {static_cast<const std::byte*>(data), size};
    entry_offset_ += size;
  }
  const size_t count = std::min(buffer.size(), block_.size());
  std::copy_n(block_.begin(), count, buffer.begin());
  block_ = block_.subspan(count);
  return count;
}

void LibarchiveReader::check(int result, const std::string& otherwise) const {
  if (input_ && input_->failure) std::rethrow_exception(input_->failure);
  if (result == ARCHIVE_OK) return;
  const char* const text = archive_error_string(archive_.get());
  throw Error(Code::kCorrupt, text != nullptr ? text : otherwise, "", "fetch it again");
}

// libarchive accepts the end of the file as the end of the archive. A complete tar file ends with
// two blocks of zeros (some writers omit the second), which only padding may follow.
void LibarchiveReader::require_end_of_tar() const {
  const auto position = static_cast<uint64_t>(archive_filter_bytes(archive_.get(), 0));
  const auto tried = static_cast<uint64_t>(archive_read_header_position(archive_.get()));
  if (position < tried + kTarBlock) {
    throw Error(Code::kCorrupt, "ends early, without the blocks of zeros that end a tar archive",
                "", "fetch it again");
  }
  const auto all_zero = [](Bytes bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  };
  Bytes rest = Bytes(input_->buffer).first(input_->block_size);
  rest = rest.last(std::min<uint64_t>(rest.size(), input_->delivered - position));
  do {
    if (!all_zero(rest)) {
      throw Error(Code::kCorrupt, "bytes after the end of the archive", "",
                  "it may be two archives in one file; pack it again");
    }
    input_->fill();
    rest = Bytes(input_->buffer).first(input_->block_size);
  } while (!rest.empty());
}

void LibarchiveReader::require_nothing_left() const {
  const auto consumed = static_cast<uint64_t>(archive_filter_bytes(archive_.get(), -1));
  if (consumed != input_->delivered || input_->fill() > 0) {
    throw Error(Code::kCorrupt, "bytes after the end of the compressed data",
                cat("compressed byte ", consumed), "fetch it again");
  }
}

}  // namespace berth
