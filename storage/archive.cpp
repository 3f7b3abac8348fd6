#include "storage/archive.h"

#include <algorithm>

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

class DecompressedSource final : public ByteSource {
 public:
  DecompressedSource(std::unique_ptr<ByteSource> compressed, Compression compression)
      : compressed_(std::move(compressed)),
        reader_(LibarchiveReader::decompressor(*compressed_, compression)) {}

  size_t read(std::span<std::byte> buffer) override { return reader_.read(buffer); }

 private:
  std::unique_ptr<ByteSource> compressed_;
  LibarchiveReader reader_;
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

std::unique_ptr<ByteSource> decompress(std::unique_ptr<ByteSource> source,
                                       Compression compression) {
  switch (compression) {
    case Compression::kNone:
      return source;
    case Compression::kGzip:
      return gunzip(std::move(source));
    case Compression::kBzip2:
    case Compression::kXz:
    case Compression::kZstd:
      break;
  }
  return std::make_unique<DecompressedSource>(std::move(source), compression);
}

}  // namespace berth
