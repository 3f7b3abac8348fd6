#include "storage/formats/png.h"

#include <gmock/gmock.h>

#include "tests/support/decoded_png.h"

namespace berth {
namespace {

TEST(Png, HoldsThePixels) {
  const Color palette[] = {{255, 255, 255}, {8, 48, 107}, {1, 2, 3}};
  const uint8_t pixels[] = {0, 1, 2, 2, 1, 0};
  const std::vector<std::byte> file = png_file(3, pixels, palette);
  EXPECT_EQ(file, png_file(3, pixels, palette));
  const DecodedPng png = decoded_png(file);
  EXPECT_EQ(png.width, 3u);
  EXPECT_EQ(png.height, 2u);
  using Rgb = std::array<int, 3>;
  const Rgb white = {255, 255, 255}, blue = {8, 48, 107}, third = {1, 2, 3};
  EXPECT_THAT(png.pixels, testing::ElementsAre(white, blue, third, third, blue, white));
}

}  // namespace
}  // namespace berth
