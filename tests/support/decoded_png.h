#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "storage/base/bytes.h"

namespace berth {

// The pixels of a PNG file with a palette of 8 bits, without filters: what png_file() makes.
struct DecodedPng {
  uint32_t width = 0, height = 0;
  std::vector<std::array<int, 3>> pixels{};  // red, green, blue, row by row

  const std::array<int, 3>& at(uint32_t x, uint32_t y) const { return pixels.at(y * width + x); }
};

// Checks the structure and all checksums. The CRC-32 is computed bit by bit, as ISO/IEC 15948 gives
// it.
inline DecodedPng decoded_png(Bytes file) {
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(text.at(at + i));
    return value;
  };
  EXPECT_EQ(text.substr(0, 8), "\x89PNG\r\n\x1a\n");
  DecodedPng png;
  std::string types, palette, rows;
  for (size_t at = 8; at < text.size();) {
    const size_t size = number(at);
    const std::string type = text.substr(at + 4, 4), data = text.substr(at + 8, size);
    uint32_t crc = 0xFFFFFFFF;
    for (const char c : type + data) {
      crc ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
    }
    EXPECT_EQ(number(at + 8 + size), ~crc) << type;
    if (type == "IHDR") {
      png.width = number(at + 8), png.height = number(at + 12);
      EXPECT_EQ(data.substr(8), std::string("\x08\x03\0\0\0", 5));
    }
    if (type == "PLTE") palette = data;
    if (type == "IDAT") {
      rows.resize((size_t{png.width} + 1) * png.height);
      uLongf made = rows.size();
      EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &made,
                           reinterpret_cast<const Bytef*>(data.data()), data.size()),
                Z_OK);
      EXPECT_EQ(made, rows.size());
    }
    types += type + " ";
    at += 12 + size;
  }
  EXPECT_EQ(types, "IHDR PLTE IDAT IEND ");
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t entry = static_cast<unsigned char>(rows[i]);
    if (i % (png.width + 1) == 0) {
      EXPECT_EQ(entry, 0u) << "a filter";
      continue;
    }
    std::array<int, 3> color{};
    for (size_t c = 0; c < 3; ++c) color[c] = static_cast<unsigned char>(palette.at(3 * entry + c));
    png.pixels.push_back(color);
  }
  return png;
}

}  // namespace berth
