#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "storage/archive.h"
#include "storage/base/bytes.h"

struct archive;  // of libarchive

namespace berth {

// One entry of an archive, as it claims to be.
struct ArchiveEntry {
  enum class Kind { kFile, kDirectory, kOther };
  Kind kind = Kind::kOther;
  std::string kind_name;         // "symbolic link", "device", ...: for messages
  std::string path;              // UTF-8 where the archive says what it is, else its bytes
  std::optional<uint64_t> size;  // of a file, where the archive says
};

// libarchive, of which this is the only user: tar, zip and the output of one decompressor are all
// it is told to recognise. Everything but its plain success is kCorrupt. Borrows what it reads;
// errors of the source pass through. Not thread-safe.
class LibarchiveReader {
 public:
  static LibarchiveReader tar(ByteSource& uncompressed);
  static LibarchiveReader zip(Bytes whole_file);  // with nothing before or behind the archive
  // kBzip2, kXz or kZstd: stands at its one entry, whose data are the decompressed bytes.
  static LibarchiveReader decompressor(ByteSource& compressed, Compression compression);

  LibarchiveReader(LibarchiveReader&&) noexcept;
  ~LibarchiveReader();

  // The next entry; false at the end of the archive. A tar must say where that is, and be read to
  // the end of its source with nothing but zeros there.
  bool next(ArchiveEntry& entry);

  // The entry's data in order, 0 at its end. Sparse files are refused.
  size_t read(std::span<std::byte> buffer);

 private:
  enum class Format { kTar, kZip, kRaw };
  struct Input;
  struct Closer {
    void operator()(struct ::archive* archive) const;
  };

  LibarchiveReader();
  void open(ByteSource& source);
  void check(int result, const std::string& otherwise) const;
  void require_end_of_tar() const;
  void require_nothing_left() const;

  std::unique_ptr<Input> input_;  // outlives archive_
  std::unique_ptr<struct ::archive, Closer> archive_;
  Format format_ = Format::kTar;
  uint64_t entry_offset_ = 0;  // of the data returned so far
  Bytes block_;                // of libarchive, not yet returned
};

}  // namespace berth
