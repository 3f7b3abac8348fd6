#include "storage/archive.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "storage/gzip_source.h"
#include "storage/libarchive_reader.h"

namespace berth {
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

void require_ratio(uint64_t packed, uint64_t unpacked, uint64_t ratio) {
  constexpr uint64_t kMattersFrom = uint64_t{64} << 20;
  if (unpacked <= kMattersFrom || unpacked / ratio <= packed) return;
  throw Error(Code::kCorrupt, cat("unpacks to more than ", ratio, " times its size"), "",
              "if it is meant to be like this, unpack it by hand");
}

std::unique_ptr<ByteSource> decompress(std::unique_ptr<ByteSource> source, Compression compression,
                                       uint64_t ratio) {
  if (compression == Compression::kNone) return source;
  return std::make_unique<DecompressedSource>(std::move(source), compression, ratio);
}

}  // namespace berth
