#include "storage/archive.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/entry_paths.h"
#include "storage/file_error.h"
#include "storage/libarchive_reader.h"
#include "storage/local_storage.h"
#include "storage/staging.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

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
