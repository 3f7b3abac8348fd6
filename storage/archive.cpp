#include "storage/archive.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <span>

#include "storage/base/bytes.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/file_descriptor.h"
#include "storage/gzip_stream.h"
#include "storage/libarchive_reader.h"
#include "storage/local_storage.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLongestPart = 255, kLongestPath = 1024;

[[noreturn]] void refuse(std::string_view name, const std::string& what) {
  throw Error(Code::kCorrupt, what, cat("entry ", quoted(name)),
              "do not unpack an archive from a source that you do not trust");
}

void require_plain(std::string_view name) {
  if (name.empty()) refuse(name, "an entry without a name");
  if (name.front() == '/') refuse(name, "an absolute path");
  if (name.size() > kLongestPath) refuse(name, "a path that is too long");
  if (name.size() >= 2 && name[1] == ':') refuse(name, "a path with a drive letter");
  for (const char c : name) {
    if (c == '\\') refuse(name, "a path with a backslash");
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) refuse(name, "a control character");
  }
}

}  // namespace

std::string EntryPaths::add(std::string_view name, bool is_directory) {
  require_plain(name);
  if (!is_directory && name.back() == '/') refuse(name, "a file whose name ends in a slash");
  std::string path;
  for (std::string_view rest = name; !rest.empty();) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view part = rest.substr(0, slash);
    rest.remove_prefix(std::min(slash + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") refuse(name, "a path that leaves the archive");
    if (part.size() > kLongestPart) refuse(name, "a path that is too long");
    if (!path.empty()) add_one(name, path, true);
    path += cat(path.empty() ? "" : "/", part);
  }
  if (!path.empty()) {
    add_one(name, path, is_directory);
  } else if (!is_directory) {
    refuse(name, "a file without a name");
  }
  return path;
}

void EntryPaths::add_one(std::string_view name, const std::string& path, bool is_directory) {
  const auto [at, is_new] =
      by_folded_path_.try_emplace(lower_ascii(path), Known{path, is_directory});
  if (is_new) return;
  const Known& known = at->second;
  if (known.is_directory && is_directory && known.spelling == path) return;
  refuse(name, cat("collides with the entry ", quoted(known.spelling)));
}

namespace {

struct Suffix {
  std::string_view text;
  Compression compression;
};

constexpr Suffix kCompressed[] = {{".gz", Compression::kGzip},
                                  {".bz2", Compression::kBzip2},
                                  {".xz", Compression::kXz},
                                  {".zst", Compression::kZstd}};

const Suffix* find_suffix(std::string_view file_name) {
  const std::string name = lower_ascii(file_name);
  const auto* const found =
      std::find_if(std::begin(kCompressed), std::end(kCompressed),
                   [&](const Suffix& suffix) { return name.ends_with(suffix.text); });
  return found == std::end(kCompressed) ? nullptr : found;
}

// Throws kCorrupt if `unpacked` bytes are above 64 MiB and above `ratio` times `packed`.
void require_ratio(uint64_t packed, uint64_t unpacked, uint64_t ratio) {
  constexpr uint64_t kMattersFrom = uint64_t{64} << 20;
  if (unpacked <= kMattersFrom || unpacked / ratio <= packed) return;
  throw Error(Code::kCorrupt, cat("unpacks to more than ", ratio, " times its size"), "",
              "if it is meant to be like this, unpack it by hand");
}

// Counts the bytes that pass through.
class CountingSource final : public ByteSource {
 public:
  CountingSource(std::unique_ptr<ByteSource> inner, uint64_t& count)
      : inner_(std::move(inner)), count_(count) {}

  size_t read(std::span<std::byte> buffer) override {
    const size_t size = inner_->read(buffer);
    count_ += size;
    return size;
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  uint64_t& count_;
};

// Decompresses all but gzip by libarchive.
class RawSource final : public ByteSource {
 public:
  RawSource(std::unique_ptr<ByteSource> compressed, Compression compression)
      : compressed_(std::move(compressed)),
        reader_(LibarchiveReader::decompressor(*compressed_, compression)) {}

  size_t read(std::span<std::byte> buffer) override { return reader_.read(buffer); }

 private:
  std::unique_ptr<ByteSource> compressed_;
  LibarchiveReader reader_;
};

std::unique_ptr<ByteSource> decompressor(std::unique_ptr<ByteSource> source,
                                         Compression compression) {
  if (compression == Compression::kGzip) return gunzip(std::move(source));
  return std::make_unique<RawSource>(std::move(source), compression);
}

class DecompressedSource final : public ByteSource {
 public:
  DecompressedSource(std::unique_ptr<ByteSource> compressed, Compression compression,
                     uint64_t ratio)
      : inner_(decompressor(std::make_unique<CountingSource>(std::move(compressed), packed_),
                            compression)),
        ratio_(ratio) {}

  size_t read(std::span<std::byte> buffer) override {
    const size_t size = inner_->read(buffer);
    unpacked_ += size;
    require_ratio(packed_, unpacked_, ratio_);
    return size;
  }

 private:
  uint64_t packed_ = 0, unpacked_ = 0;
  std::unique_ptr<ByteSource> inner_;
  const uint64_t ratio_;
};

}  // namespace

Compression compression_of(std::string_view file_name) {
  const Suffix* const suffix = find_suffix(file_name);
  return suffix == nullptr ? Compression::kNone : suffix->compression;
}

std::string_view without_compression_suffix(std::string_view file_name) {
  const Suffix* const suffix = find_suffix(file_name);
  if (suffix != nullptr) file_name.remove_suffix(suffix->text.size());
  return file_name;
}

std::unique_ptr<ByteSource> decompress(std::unique_ptr<ByteSource> source, Compression compression,
                                       uint64_t ratio) {
  if (compression == Compression::kNone) return source;
  return std::make_unique<DecompressedSource>(std::move(source), compression, ratio);
}

namespace {

constexpr size_t kWriteStep = size_t{1} << 16;

void sync_file(const fs::path& path) {
  const FileDescriptor fd(
      uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW); }));
  if (!fd || uninterrupted([&] { return ::fsync(fd.get()); }) != 0) {
    throw file_error(errno, "write to disk", path.string());
  }
}

// A directory that appears all at once. Its files are written to a new 0700 directory beside the
// target, which publish() renames to the target. If publish() is never called, the destructor
// removes everything.
class Staging {
 public:
  // Creates missing parents of `target`.
  explicit Staging(const fs::path& target) : target_(target) {
    const std::string parent = directory_of(target_.string());
    make_directories(parent);
    path_ = fs::path(parent) / cat(temporary_prefix(target_.string()), random_letters(6), ".part");
    if (::mkdir(path_.c_str(), 0700) != 0 || ::mkdir(content().c_str(), 0700) != 0) {
      const int number = errno;
      std::error_code ignored;
      fs::remove_all(path_, ignored);
      throw file_error(number, "make the directory", target_.string());
    }
  }
  ~Staging() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // The directory to fill, and a path for a temporary file that is not published.
  fs::path content() const { return path_ / "content"; }
  fs::path scratch_file() const { return path_ / "scratch"; }

  // Creates a file and writes to it whatever `read` returns, until `read` returns 0. Returns the
  // number of bytes. The file is not synced yet.
  static uint64_t write(const fs::path& path,
                        const std::function<size_t(std::span<std::byte>)>& read) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) throw file_error(error.value(), "make the directory", path.parent_path().string());
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    const FileDescriptor fd(uninterrupted([&] { return ::open(path.c_str(), flags, 0666); }));
    if (!fd) throw file_error(errno, "write", path.string());
    std::array<std::byte, kWriteStep> buffer;
    uint64_t total = 0;
    while (const size_t size = read(buffer)) {
      write_all(fd.get(), Bytes(buffer).first(size), path.string());
      total += size;
    }
    return total;
  }

  // Syncs content() and renames it to the target.
  void publish() {
    for (const auto& entry : fs::recursive_directory_iterator(content())) {
      if (entry.is_directory()) {
        sync_directory(entry.path().string());
      } else {
        sync_file(entry.path());
      }
    }
    sync_directory(content().string());
    if (std::rename(content().c_str(), target_.c_str()) != 0) {
      throw file_error(errno, "make the directory", target_.string());
    }
    sync_directory(directory_of(target_.string()));
  }

 private:
  const fs::path target_;
  fs::path path_;
};

// Counts the bytes read and the bytes unpacked so far, and compares them with the limits.
struct Flow {
  const UnpackLimits& limits;
  uint64_t packed = 0, unpacked = 0;

  void require_within_limits() const {
    if (packed > limits.total_bytes || unpacked > limits.total_bytes) {
      refuse(cat("more than ", human_bytes(limits.total_bytes)));
    }
    require_ratio(packed, unpacked, limits.ratio);
  }
  void require_room_for(uint64_t size) const {
    if (size > limits.total_bytes) refuse(cat("more than ", human_bytes(limits.total_bytes)));
  }
  [[noreturn]] static void refuse(const std::string& what) {
    throw Error(Code::kCorrupt, what, "", "if it is meant to be like this, unpack it by hand");
  }
};

// Adds the bytes that pass through to one of the two counts of `flow`.
class BoundedSource final : public ByteSource {
 public:
  BoundedSource(std::unique_ptr<ByteSource> inner, Flow& flow, uint64_t Flow::*count)
      : inner_(std::move(inner)), flow_(flow), count_(count) {}

  size_t read(std::span<std::byte> buffer) override {
    const size_t size = inner_->read(buffer);
    flow_.*count_ += size;
    flow_.require_within_limits();
    return size;
  }

 private:
  std::unique_ptr<ByteSource> inner_;
  Flow& flow_;
  uint64_t Flow::*count_;
};

std::string name_of(const ArchiveEntry& entry) { return cat("entry ", quoted(entry.path)); }

void unpack_file(LibarchiveReader& reader, const ArchiveEntry& entry, const fs::path& path,
                 Flow& flow, bool is_metered) {
  if (entry.size) flow.require_room_for(*entry.size);
  const uint64_t size = Staging::write(path, [&](std::span<std::byte> buffer) {
    const size_t count = reader.read(buffer);
    if (!is_metered) flow.unpacked += count;
    flow.require_within_limits();
    return count;
  });
  if (entry.size && size != *entry.size) {
    throw Error(Code::kCorrupt, cat("has ", size, " bytes, but its header says ", *entry.size),
                name_of(entry), "pack it without sparse files");
  }
}

// "x.pickle" of "x.pickle.tar.gz".
std::string without_archive_suffix(std::string_view name) {
  name = without_compression_suffix(name);
  return std::string(name.substr(0, name.rfind('.')));
}

// If `is_metered`, a BoundedSource already counts the unpacked bytes.
void unpack_entries(LibarchiveReader reader, std::string_view archive, const fs::path& directory,
                    Flow& flow, bool is_metered) {
  EntryPaths paths;
  uint64_t entries = 0;
  for (ArchiveEntry entry; reader.next(entry);) {
    if (++entries > flow.limits.entries) {
      Flow::refuse(cat("more than ", flow.limits.entries, " entries"));
    }
    if (entry.kind == ArchiveEntry::Kind::kOther) {
      throw Error(Code::kCorrupt, cat("is ", entry.kind_name), name_of(entry),
                  "pack regular files and directories only");
    }
    const bool is_directory = entry.kind == ArchiveEntry::Kind::kDirectory;
    std::string path = paths.add(entry.path, is_directory);
    // pandas calls the one file in x.pickle.tar.gz by that name, too.
    if (!is_directory && path == archive) path = paths.add(without_archive_suffix(path), false);
    if (is_directory) {
      std::error_code error;
      fs::create_directories(directory / path, error);
      if (error) throw file_error(error.value(), "make the directory", directory / path);
    } else {
      unpack_file(reader, entry, directory / path, flow, is_metered);
    }
  }
}

void unpack_tar(std::unique_ptr<ByteSource> source, std::string_view archive,
                Compression compression, Flow& flow, const fs::path& directory) {
  source = std::make_unique<BoundedSource>(std::move(source), flow, &Flow::packed);
  source = decompress(std::move(source), compression, flow.limits.ratio);
  source = std::make_unique<BoundedSource>(std::move(source), flow, &Flow::unpacked);
  unpack_entries(LibarchiveReader::tar(*source), archive, directory, flow, true);
}

// A zip archive has its table of contents at the end, so the whole archive is first copied to disk.
void unpack_zip(std::unique_ptr<ByteSource> source, std::string_view archive, Flow& flow,
                const fs::path& packed, const fs::path& directory) {
  BoundedSource metered(std::move(source), flow, &Flow::packed);
  Staging::write(packed, [&](std::span<std::byte> buffer) { return metered.read(buffer); });
  const auto file = map_file(packed);
  unpack_entries(LibarchiveReader::zip(*file->view()), archive, directory, flow, false);
}

struct ArchiveName {
  bool is_zip;
  Compression compression;
};

std::optional<ArchiveName> parse_name(std::string_view file_name) {
  const std::string name = lower_ascii(file_name);
  if (name.ends_with(".zip")) return ArchiveName{true, Compression::kNone};
  if (name.ends_with(".tgz")) return ArchiveName{false, Compression::kGzip};
  if (!without_compression_suffix(name).ends_with(".tar")) return std::nullopt;
  return ArchiveName{false, compression_of(name)};
}

}  // namespace

bool is_archive(std::string_view file_name) { return parse_name(file_name).has_value(); }

void unpack(std::unique_ptr<ByteSource> source, std::string_view file_name,
            const fs::path& directory, const UnpackLimits& limits) {
  const std::optional<ArchiveName> name = parse_name(file_name);
  if (!name) {
    throw Error(Code::kBadData, "does not have the name of an archive", std::string(file_name),
                "archives end in .tar, .tar.gz, .tgz, .tar.bz2, .tar.xz, .tar.zst or .zip");
  }
  if (fs::exists(fs::symlink_status(directory))) {
    throw Error(Code::kUsage, "exists already", directory.string(),
                "remove it or unpack elsewhere");
  }
  Staging staging(directory);
  Flow flow{.limits = limits};
  try {
    if (name->is_zip) {
      unpack_zip(std::move(source), file_name, flow, staging.scratch_file(), staging.content());
    } else {
      unpack_tar(std::move(source), file_name, name->compression, flow, staging.content());
    }
  } catch (const Error& error) {
    if (error.code() != Code::kCorrupt) throw;
    throw error.at(std::string(file_name));
  }
  staging.publish();
}

}  // namespace berth
