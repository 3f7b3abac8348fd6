#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Pictures as PNG files. Thread-safe. Throws kMemory alone.
namespace berth {

struct Color {
  uint8_t red = 0, green = 0, blue = 0;
};

// Returns a picture as a PNG file (ISO/IEC 15948) with a palette. `pixels` holds rows of `width`
// indices into the palette, which has at most 256 colors. There is at least one pixel, and there
// are at most 2^31 - 1 in each direction. Equal pictures give equal bytes.
std::vector<std::byte> png_file(uint32_t width, std::span<const uint8_t> pixels,
                                std::span<const Color> palette);

}  // namespace berth
