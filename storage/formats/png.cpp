#include "storage/formats/png.h"

#include <zlib.h>

#include <cassert>
#include <string_view>

#include "storage/base/error.h"

namespace berth {
namespace {

// A file is the signature and chunks: length u32, type, data, CRC-32 of type and data u32. Numbers
// are big-endian.
constexpr std::string_view kSignature = "\x89PNG\r\n\x1a\n";
constexpr uint8_t kBitsPerPixel = 8, kPaletteColors = 3;
constexpr uint8_t kUnfiltered = 0;  // stands before every row of pixels

void append(std::vector<std::byte>& file, Bytes bytes) {
  file.insert(file.end(), bytes.begin(), bytes.end());
}

void append_number(std::vector<std::byte>& file, uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) file.push_back(static_cast<std::byte>(number >> shift));
}

void append_chunk(std::vector<std::byte>& file, std::string_view type, Bytes data) {
  append_number(file, static_cast<uint32_t>(data.size()));
  const size_t begin = file.size();
  append(file, std::as_bytes(std::span(type)));
  append(file, data);
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(&file[begin]), file.size() - begin);
  append_number(file, static_cast<uint32_t>(crc));
}

std::vector<std::byte> compressed(const std::vector<uint8_t>& bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<std::byte> result(size);
  const int code = compress(reinterpret_cast<Bytef*>(result.data()), &size, bytes.data(),
                            static_cast<uLong>(bytes.size()));
  if (code != Z_OK) throw Error(Code::kMemory, "no memory for zlib");
  result.resize(size);
  return result;
}

}  // namespace

std::vector<std::byte> png_file(uint32_t width, std::span<const uint8_t> pixels,
                                std::span<const Color> palette) {
  assert(width > 0 && !pixels.empty() && pixels.size() % width == 0);
  assert(!palette.empty() && palette.size() <= 256);
  static_assert(sizeof(Color) == 3);
  std::vector<std::byte> header;
  append_number(header, width);
  append_number(header, static_cast<uint32_t>(pixels.size() / width));
  // Compression, filter and interlacing follow, which are 0.
  for (const uint8_t value : {kBitsPerPixel, kPaletteColors, uint8_t{0}, uint8_t{0}, uint8_t{0}}) {
    header.push_back(std::byte{value});
  }
  std::vector<uint8_t> rows;
  rows.reserve(pixels.size() + pixels.size() / width);
  for (size_t at = 0; at < pixels.size(); at += width) {
    rows.push_back(kUnfiltered);
    const auto row = pixels.subspan(at, width);
    rows.insert(rows.end(), row.begin(), row.end());
  }

  const Bytes signature = std::as_bytes(std::span(kSignature));
  std::vector<std::byte> file(signature.begin(), signature.end());
  append_chunk(file, "IHDR", header);
  append_chunk(file, "PLTE", std::as_bytes(palette));
  append_chunk(file, "IDAT", compressed(rows));
  append_chunk(file, "IEND", {});
  return file;
}

}  // namespace berth
