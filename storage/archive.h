#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"

// Compressed files and archives: their names, the safety of their entries, decompression and
// unpacking. The functions are thread-safe; EntryPaths and the sources are not. Damage, and what is
// unsafe or too large, is kCorrupt.
namespace berth {

// Checks the names of an archive's entries. No entry may leave the directory that the archive is
// unpacked into, and no entry may overwrite another.
class EntryPaths {
 public:
  // Returns `name` as a relative path without "." parts and without a trailing "/"; the directory
  // itself becomes an empty path. Throws kCorrupt, naming the entry, on an absolute path, "..", a
  // backslash, a drive letter, a control character, or a part longer than 255 bytes. Also on a name
  // that equals an earlier one when ASCII case is ignored. A directory may appear more than once.
  std::string add(std::string_view name, bool is_directory);

 private:
  struct Known {
    std::string spelling;
    bool is_directory;
  };
  void add_one(std::string_view name, const std::string& path, bool is_directory);

  std::map<std::string, Known> by_folded_path_;
};

// How a file is compressed. The suffix of its name decides: .gz, .bz2, .xz, .zst, or none of them.
enum class Compression { kNone, kGzip, kBzip2, kXz, kZstd };
Compression compression_of(std::string_view file_name);

// Returns `file_name` without the suffix that compression_of() recognized.
std::string_view without_compression_suffix(std::string_view file_name);

// The default of how many times its size a file may unpack to. Up to 64 MiB any file may.
constexpr uint64_t kMostUnpacked = 200;

// Returns the decompressed bytes of `source`. Concatenated members are joined. Throws kCorrupt on
// damage, and on more than `ratio` times as many bytes. For gzip the CRC-32 and the length at the
// end are compared, which libarchive would not do.
std::unique_ptr<ByteSource> decompress(std::unique_ptr<ByteSource> source, Compression compression,
                                       uint64_t ratio = kMostUnpacked);

// Whether the name ends like an archive: .tar, .tar.gz, .tgz, .tar.bz2, .tar.xz, .tar.zst, .zip.
bool is_archive(std::string_view file_name);

struct UnpackLimits {
  uint64_t entries = 10'000;
  uint64_t total_bytes = uint64_t{64} << 30;
  uint64_t ratio = kMostUnpacked;
};

// Unpacks a tar or zip archive into `directory`, which must not exist yet. The files are written to
// a new 0700 directory beside it, which is renamed into place after the archive was read to its
// end. On failure nothing is left behind.
//
// A file inside that has the archive's own name loses the archive's suffix: pandas writes
// x.pickle.tar.gz like that. Only regular files and directories are unpacked. Throws kCorrupt on
// links, devices, absolute paths, "..", duplicate names (ignoring case) and sparse files. Also on a
// truncated archive, on a checksum that does not match, and on anything that exceeds `limits`.
void unpack(std::unique_ptr<ByteSource> source, std::string_view file_name,
            const std::filesystem::path& directory, const UnpackLimits& limits = {});

}  // namespace berth
