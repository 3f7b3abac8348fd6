#include "entrypoint/report/confusion_image.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/decoded_png.h"

namespace berth {
namespace {

using Rgb = std::array<int, 3>;
constexpr Rgb kWhite = {255, 255, 255}, kBlue = {8, 48, 107}, kInk = {32, 32, 32};

TEST(ConfusionImage, IsAsDarkAsTheShareOfTheRow) {
  const ConfusionImage image = confusion_image({{3, 1}, {0, 1000}});
  EXPECT_EQ(image.png, confusion_image({{3, 1}, {0, 1000}}).png);
  const DecodedPng png = decoded_png(image.png);
  // A margin of 28 pixels, and cells with room for four digits.
  ASSERT_EQ(png.width, 28u + 2 * 40);
  ASSERT_EQ(png.height, png.width);
  EXPECT_EQ(image.width, png.width);
  const auto corner = [&](uint32_t truth, uint32_t guess) {
    return png.at(29 + 40 * guess, 29 + 40 * truth);
  };
  EXPECT_EQ(corner(1, 0), kWhite);
  EXPECT_EQ(corner(1, 1), kBlue);
  const Rgb quarter = corner(0, 1), most = corner(0, 0);
  EXPECT_NEAR(quarter[0], 255 - 247 / 4, 3);
  EXPECT_NEAR(most[0], 255 - 247 * 3 / 4, 3);
}

TEST(ConfusionImage, WritesTheCounts) {
  const DecodedPng png = decoded_png(confusion_image({{0, 7}, {0, 0}}).png);
  // The cell of the count 7, which is light on dark: five rows of three dots.
  std::string seven;
  for (uint32_t y = 0; y < 5; ++y) {
    for (uint32_t x = 0; x < 3; ++x) seven += png.at(67 + 2 * x, 37 + 2 * y) == kWhite ? '#' : '.';
  }
  EXPECT_EQ(seven, "###..#..#..#..#");
  // Its row has the number 0, its column the number 1, in the margin.
  EXPECT_EQ(png.at(11, 37), kInk);
  EXPECT_EQ(png.at(69, 9), kInk);
}

TEST(ConfusionImage, OfManyClassesHasCellsAlone) {
  std::vector<std::vector<int64_t>> counts(200, std::vector<int64_t>(200, 0));
  counts[199][0] = 5;
  const DecodedPng png = decoded_png(confusion_image(counts).png);
  ASSERT_EQ(png.width, 600u);
  EXPECT_EQ(png.at(0, 599), kBlue);
  EXPECT_EQ(png.at(2, 597), kBlue);
  EXPECT_EQ(png.at(3, 599), kWhite);
}

}  // namespace
}  // namespace berth
