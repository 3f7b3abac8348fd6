#include "storage/cached_storage.h"

#include <atomic>
#include <vector>

#include "storage/base/checksum.h"
#include "storage/base/error.h"
#include "storage/base/log.h"
#include "storage/base/text.h"
#include "storage/whole_file.h"

namespace berth {
namespace {

constexpr size_t kCopyStep = size_t{1} << 20;

// "b-corpus-train.csv.0123456789abcdef.": the prefix of the cached files of all generations of
// `uri`. The hash distinguishes URIs that simplify to the same file name.
std::string prefix_for(const Uri& uri) {
  constexpr size_t kLongest = 100;
  std::string name = uri.host() + "-" + uri.path();
  if (name.size() > kLongest) name.erase(0, name.size() - kLongest);
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '.' && c != '_') c = '-';
  }
  if (name.front() == '.') name.front() = '-';
  return cat(name, ".",
             formatted("%016llx", static_cast<unsigned long long>(fnv1a(uri.to_string()))), ".");
}

std::string version_of(const Stat& stat) {
  return cat(stat.generation, ".", stat.crc32c ? crc_text(*stat.crc32c) : "none");
}

Uri checksum_file(const Uri& file) { return Uri::parse(file.to_string() + ".sum"); }

// Whether the copy needs a checksum file, because the object's metadata do not describe the copy.
bool needs_checksum_file(const Stat& stat) {
  return !stat.content_encoding.empty() || !stat.crc32c;
}

bool fits(const Checksum& checksum, const Stat& stat) {
  return checksum.size == stat.size && (!stat.crc32c || checksum.crc == *stat.crc32c);
}

class CachedStorage final : public StorageLayer {
 public:
  CachedStorage(std::unique_ptr<Storage> inner, Storage& local, const std::filesystem::path& dir)
      : StorageLayer(std::move(inner)), local_(local), directory_(Uri::parse(dir.string())) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    if (options.offset != 0 || options.length) return inner().open(uri, options);
    const std::optional<Stat> stat = options.known ? *options.known : inner().stat(uri);
    if (!stat || (options.generation && *options.generation != stat->generation) ||
        (stat->generation == 0 && !stat->crc32c)) {
      return inner().open(uri, options);
    }
    const Uri file = directory_ / (prefix_for(uri) + version_of(*stat));
    if (auto source = open_hit(file, *stat)) return source;
    ReadOptions pinned = options;
    pinned.known = &*stat;
    if (stat->generation != 0) pinned.generation = stat->generation;
    if (fetch(uri, pinned, *stat, file)) {
      remove_older(uri, file);
      try {
        return local_.open(file);
      } catch (const Error& error) {  // another process may have removed it
        log_debug(cat("reading without the cache: ", error.what()));
      }
    }
    return inner().open(uri, pinned);
  }

 private:
  // The size and CRC-32C that the cached copy must have. They come from the stored object's
  // metadata, unless it has a Content-Encoding or no CRC-32C. An object with a Content-Encoding may
  // be decompressed while it is read.
  std::optional<Stat> content_of(const Uri& file, Stat stat) {
    if (!needs_checksum_file(stat)) return stat;
    const std::optional<std::string> text = read_text(local_, checksum_file(file));
    unsigned long long size = 0;
    unsigned crc = 0;
    if (!text || std::sscanf(text->c_str(), "%llu %x", &size, &crc) != 2) return std::nullopt;
    stat.size = size;
    stat.crc32c = crc;
    return stat;
  }

  // Returns null if the copy is missing or damaged.
  std::unique_ptr<ByteSource> open_hit(const Uri& file, const Stat& stored) {
    try {
      const std::optional<Stat> cached = local_.stat(file);
      const std::optional<Stat> content = content_of(file, stored);
      if (!cached || !content) return nullptr;
      const Stat& stat = *content;
      Checksum checksum;
      if (cached->size == stat.size) {
        ChecksumSource source(local_.open(file), checksum);
        std::vector<std::byte> buffer(kCopyStep);
        while (source.read(buffer) > 0) {
        }
      }
      if (fits(checksum, stat)) {
        log_debug(cat("read from the cache: ", stat.name));
        return local_.open(file, {.generation = cached->generation});
      }
      log_warning(cat("the cached copy of ", stat.name, " is damaged, and is removed and fetched ",
                      "again: ", file.to_string()));
      local_.remove(file);
    } catch (const Error& error) {
      log_debug(cat("reading without the cache: ", error.what()));
    }
    return nullptr;
  }

  // Returns whether the object is in the cache now. Throws if reading the object fails.
  bool fetch(const Uri& uri, const ReadOptions& pinned, const Stat& stat, const Uri& file) {
    if (cannot_write_) return false;
    std::unique_ptr<ByteSink> sink;
    const auto try_writing = [&](const auto& action) {
      try {
        action();
        return true;
      } catch (const Error& error) {
        if (!cannot_write_.exchange(true)) {
          log_warning(cat("the cache is not used: ", error.what()));
        }
        return false;
      }
    };
    if (!try_writing([&] { sink = local_.create(file, {.size_hint = stat.size}); })) return false;
    Checksum checksum;
    ChecksumSource source(inner().open(uri, pinned), checksum);
    std::vector<std::byte> buffer(kCopyStep);
    while (const size_t count = source.read(buffer)) {
      if (!try_writing([&] { sink->write(Bytes(buffer).first(count)); })) return false;
    }
    // Only `inner` sees the stored bytes of an encoded object; it has compared them already.
    const bool is_encoded = !stat.content_encoding.empty();
    if (!is_encoded && !fits(checksum, stat)) {
      throw Error(Code::kUnavailable, "the bytes that arrived differ from the stored object",
                  uri.to_string(), "try again");
    }
    return try_writing([&] {
      sink->close();
      if (!needs_checksum_file(stat)) return;
      write_text(local_, checksum_file(file), cat(checksum.size, " ", crc_text(checksum.crc)));
    });
  }

  void remove_older(const Uri& uri, const Uri& newest) {
    const std::string prefix = (directory_ / prefix_for(uri)).to_string();
    try {
      for (const Stat& stat : local_.list(directory_)) {
        if (stat.name.starts_with(prefix) && !stat.name.starts_with(newest.to_string())) {
          local_.remove(Uri::parse(stat.name));
        }
      }
    } catch (const Error& error) {
      log_debug(cat("an older copy could not be removed from the cache: ", error.what()));
    }
  }

  Storage& local_;
  const Uri directory_;
  std::atomic<bool> cannot_write_ = false;
};

}  // namespace

std::unique_ptr<Storage> make_cached_storage(std::unique_ptr<Storage> inner, Storage& local,
                                             const std::filesystem::path& cache_dir) {
  return std::make_unique<CachedStorage>(std::move(inner), local, cache_dir);
}

}  // namespace berth
