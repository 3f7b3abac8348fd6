#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/archive.h"
#include "storage/base/bytes.h"

struct archive;  // libarchive's type

namespace berth {

// The header of one archive entry. Nothing in it has been verified.
struct ArchiveEntry {
  enum class Kind { kFile, kDirectory, kOther };
  Kind kind = Kind::kOther;
  std::string kind_name;         // for messages: "a symbolic link", "a device", ...
  std::string path;              // UTF-8 if the archive declares its encoding, else raw bytes
  std::optional<uint64_t> size;  // of a file, if the archive declares it
};

// Reads archives with libarchive; no other file uses that library. Only tar, zip, and one
// decompressor at a time are enabled. Every result of libarchive other than success becomes
// kCorrupt. Errors of the source pass through unchanged. The input must outlive the reader. Not
// thread-safe.
class LibarchiveReader {
 public:
  static LibarchiveReader tar(ByteSource& uncompressed);
  static LibarchiveReader zip(Bytes whole_file);  // kCorrupt if bytes precede or follow the archive
  // For kBzip2, kXz or kZstd. The reader starts at the only entry; read() returns the decompressed
  // bytes.
  static LibarchiveReader decompressor(ByteSource& compressed, Compression compression);

  LibarchiveReader(LibarchiveReader&&) noexcept;
  ~LibarchiveReader();

  // Advances to the next entry; returns false at the end of the archive. A tar file must have its
  // end marker, and only zero bytes may follow it. Throws kCorrupt otherwise.
  bool next(ArchiveEntry& entry);

  // Reads the next bytes of the entry; returns 0 at its end. Throws kCorrupt on a sparse file.
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

  std::unique_ptr<Input> input_;  // must outlive archive_
  std::unique_ptr<struct ::archive, Closer> archive_;
  Format format_ = Format::kTar;
  uint64_t entry_offset_ = 0;  // the number of bytes that libarchive delivered of this entry
  Bytes block_;                // the bytes of the blocks that read() has not returned yet
};

// Checks the consistency of a zip file, which libarchive does not do. Compares the end record with
// the table of contents, and both with the size of the file. Throws kCorrupt if there are bytes
// before or after the archive. Also throws it if the table has another number of entries or another
// size than the end record says.
void require_whole_zip(std::string_view file);

}  // namespace berth
