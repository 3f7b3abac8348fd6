#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "storage/base/bytes.h"

namespace berth {

// How a file's content is compressed, told by its name: .gz .bz2 .xz .zst, else none.
enum class Compression { kNone, kGzip, kBzip2, kXz, kZstd };
Compression compression_of(std::string_view file_name);

// `file_name` without the suffix that compression_of() recognised.
std::string_view without_compression_suffix(std::string_view file_name);

// The decompressed bytes of `source`. Concatenated members are joined. Damage is kCorrupt: gzip's
// CRC-32 and length, which libarchive does not compare, are compared here.
std::unique_ptr<ByteSource> decompress(std::unique_ptr<ByteSource> source, Compression compression);

// Whether the name is one of an archive: .tar, .tar.gz, .tgz, .tar.bz2, .tar.xz, .tar.zst, .zip.
bool is_archive(std::string_view file_name);

struct UnpackLimits {
  uint64_t entries = 10'000;
  uint64_t total_bytes = uint64_t{64} << 30;
  uint64_t ratio = 200;  // unpacked over packed, once past 64 MiB
};

// Unpacks a tar or zip archive into `directory`, which must not exist: into a fresh 0700 directory
// beside it, renamed into place once the archive was read to its end. Regular files and directories
// only; refused (kCorrupt, nothing left behind): links, devices, absolute or ".." paths, duplicate
// names (case folded too), sparse bombs, more than `limits`, truncation, bytes that fail their
// checksum.
void unpack(std::unique_ptr<ByteSource> source, std::string_view file_name,
            const std::filesystem::path& directory, const UnpackLimits& limits = {});

}  // namespace berth
