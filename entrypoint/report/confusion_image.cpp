#include "entrypoint/report/confusion_image.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <string_view>

#include "storage/formats/png.h"

namespace berth {
namespace {

constexpr size_t kMostWithNumbers = 20;
constexpr uint32_t kLeastCell = 28;    // pixels, with numbers
constexpr uint32_t kWholeWidth = 600;  // of a matrix without numbers, where cells can be so small
constexpr uint32_t kSmallestCell = 3;

// The palette: from white to blue, then the color of dark text. Light text is the first color.
constexpr uint8_t kShades = 64, kDark = kShades;

std::vector<Color> palette() {
  constexpr Color kBlue = {8, 48, 107};
  const auto mixed = [](int blue, int shade) {
    return static_cast<uint8_t>(255 - (255 - blue) * shade / (kShades - 1));
  };
  std::vector<Color> colors;
  for (int i = 0; i < kShades; ++i) {
    colors.push_back({mixed(kBlue.red, i), mixed(kBlue.green, i), mixed(kBlue.blue, i)});
  }
  colors.push_back({32, 32, 32});
  return colors;
}

// The digits, as rows of three dots.
constexpr uint32_t kDigitWidth = 3, kDigitHeight = 5, kDot = 2;
constexpr uint32_t kAdvance = kDot * (kDigitWidth + 1);  // pixels from one digit to the next
constexpr std::array<std::string_view, 10> kDigits = {
    "####.##.##.####", ".#.##..#..#.###", "###..#####..###", "###..####..####", "#.##.####..#..#",
    "####..###..####", "####..####.####", "###..#..#..#..#", "####.#####.####", "####.####..####"};

class Canvas {
 public:
  Canvas(uint32_t width, uint32_t height) : width_(width), pixels_(size_t{width} * height) {}

  void fill(uint32_t left, uint32_t top, uint32_t side_x, uint32_t side_y, uint8_t color) {
    for (uint32_t y = top; y < top + side_y; ++y) {
      const auto begin = pixels_.begin() + static_cast<ptrdiff_t>(size_t{y} * width_ + left);
      std::fill_n(begin, side_x, color);
    }
  }

  // Writes `number` into the middle of a box, which is large enough.
  void write(int64_t number, uint32_t left, uint32_t top, uint32_t side_x, uint32_t side_y,
             uint8_t color) {
    const std::string digits = std::to_string(number);
    left += (side_x + kDot - kAdvance * static_cast<uint32_t>(digits.size())) / 2;
    top += (side_y - kDot * kDigitHeight) / 2;
    for (const char digit : digits) {
      const std::string_view dots = kDigits[static_cast<size_t>(digit - '0')];
      for (uint32_t i = 0; i < dots.size(); ++i) {
        if (dots[i] != '#') continue;
        fill(left + kDot * (i % kDigitWidth), top + kDot * (i / kDigitWidth), kDot, kDot, color);
      }
      left += kAdvance;
    }
  }

  std::span<const uint8_t> pixels() const { return pixels_; }

 private:
  uint32_t width_;
  std::vector<uint8_t> pixels_;  // rows of indices into the palette
};

uint8_t shade_of(int64_t count, int64_t of) {
  if (of == 0) return 0;
  return static_cast<uint8_t>((2 * (kShades - 1) * count + of) / (2 * of));
}

}  // namespace

ConfusionImage confusion_image(const std::vector<std::vector<int64_t>>& counts) {
  const auto classes = static_cast<uint32_t>(counts.size());
  const bool has_numbers = classes <= kMostWithNumbers;
  int64_t most = 0;
  for (const auto& row : counts) most = std::max(most, std::ranges::max(row));
  const auto digits = static_cast<uint32_t>(std::to_string(most).size());
  const uint32_t cell = has_numbers ? std::max(kLeastCell, kAdvance * (digits + 1))
                                    : std::max(kSmallestCell, kWholeWidth / classes);
  const uint32_t margin = has_numbers ? kLeastCell : 0, gap = has_numbers ? 1 : 0;
  const uint32_t side = margin + classes * cell;

  Canvas canvas(side, side);
  for (uint32_t truth = 0; truth < classes; ++truth) {
    const auto& row = counts[truth];
    const int64_t support = std::accumulate(row.begin(), row.end(), int64_t{0});
    const uint32_t top = margin + truth * cell;
    if (has_numbers) {
      canvas.write(truth, 0, top, margin, cell, kDark);
      canvas.write(truth, top, 0, cell, margin, kDark);
    }
    for (uint32_t guess = 0; guess < classes; ++guess) {
      const uint32_t left = margin + guess * cell;
      const uint8_t shade = shade_of(row[guess], support);
      canvas.fill(left, top, cell - gap, cell - gap, shade);
      if (!has_numbers) continue;
      const uint8_t ink = shade < kShades / 2 ? kDark : uint8_t{0};
      canvas.write(row[guess], left, top, cell, cell, ink);
    }
  }
  return {.width = side, .height = side, .png = png_file(side, canvas.pixels(), palette())};
}

}  // namespace berth
