#include "entrypoint/report/html/svg_frame.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "entrypoint/report/html/markup.h"
#include "storage/base/text.h"

namespace berth {
namespace {

// Values of other sizes are drawn at the ends of an axis, because the ticks around them would not
// be finite, or not differ.
constexpr double kLeast = 1e-300, kMost = 1e300;

// A step of 1, 2 or 5 times a power of ten that makes about `ticks` steps of `size`.
double round_step(double size, int ticks) {
  const double rough = size / ticks;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

// "1.5e-4"
std::string power_text(double value) {
  const int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
  char text[48];
  std::snprintf(text, sizeof text, "%.3ge%d", value / std::pow(10.0, power), power);
  return text;
}

// `size`: the magnitude of the largest value of the axis.
std::string tick_text(double value, double step, double size) {
  constexpr double kLeastSize = 1e-2, kLeastStep = 1e-6;  // that decimals show without many zeros
  if (std::abs(value) < step * 1e-6) return "0";
  if (std::abs(value) >= 1e6) return power_text(value);
  if (step < 1e-3 && (size < kLeastSize || step < kLeastStep)) return power_text(value);
  if (step >= 1) return whole_number(std::llround(value));
  char text[32];
  const int decimals = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

}  // namespace

AxisRange AxisRange::between(double least, double most, int ticks) {
  if (!std::isfinite(most - least) || std::max(-least, most) > kMost) return {};
  if (most - least <= std::max(std::abs(most) * 1e-9, kLeast)) {
    const double around = std::abs(least) < kLeast * 100 ? 1 : std::abs(least) * 0.1;
    least -= around;
    most += around;
  }
  return {least, most, round_step(most - least, ticks)};
}

AxisRange AxisRange::covering(double least, double most, int ticks) {
  AxisRange range = between(least, most, ticks);
  range.low = std::floor(range.low / range.step + 1e-6) * range.step;
  range.high = std::ceil(range.high / range.step - 1e-6) * range.step;
  return range;
}

std::string coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

SvgFrame::SvgFrame(AxisRange x, AxisRange y, std::string x_name)
    : x_(x), y_(y), x_name_(std::move(x_name)) {}

double SvgFrame::x(double value) const {
  const double share = std::clamp((value - x_.low) / (x_.high - x_.low), 0.0, 1.0);
  return kLeft + share * (kRight - kLeft);
}

double SvgFrame::y(double value) const {
  const double share = std::clamp((value - y_.low) / (y_.high - y_.low), 0.0, 1.0);
  return kBottom - share * (kBottom - kTop);
}

std::string SvgFrame::place(double x_value, double y_value) const {
  return cat(coordinate(x(x_value)), ",", coordinate(y(y_value)));
}

std::string SvgFrame::axes() const {
  std::string out;
  const double end = 1e-6;
  const auto size = [](const AxisRange& range) {
    return std::max(std::abs(range.low), std::abs(range.high));
  };
  for (double tick = std::ceil(y_.low / y_.step - end) * y_.step; tick <= y_.high + y_.step * end;
       tick += y_.step) {
    const std::string at = coordinate(y(tick));
    out +=
        cat("<path class=\"grid\" d=\"M", coordinate(kLeft), ",", at, "H", coordinate(kRight),
            "\"/><text class=\"tick\" text-anchor=\"end\" dy=\".35em\" x=\"", coordinate(kLeft - 7),
            "\" y=\"", at, "\">", tick_text(tick, y_.step, size(y_)), "</text>");
  }
  for (double tick = std::ceil(x_.low / x_.step - end) * x_.step; tick <= x_.high + x_.step * end;
       tick += x_.step) {
    const std::string at = coordinate(x(tick));
    const bool is_last = x(tick) > kRight - 14;
    out += cat("<path class=\"axis\" d=\"M", at, ",", coordinate(kBottom), "v5\"/>",
               "<text class=\"tick\" text-anchor=\"", is_last ? "end" : "middle", "\" x=\"",
               is_last ? coordinate(kRight + 8) : at, "\" y=\"", coordinate(kBottom + 20), "\">",
               tick_text(tick, x_.step, size(x_)), "</text>");
  }
  return out + cat("<path class=\"axis\" d=\"M", coordinate(kLeft), ",", coordinate(kBottom), "H",
                   coordinate(kRight), "\"/><text class=\"name\" text-anchor=\"middle\" x=\"",
                   coordinate((kLeft + kRight) / 2), "\" y=\"", coordinate(kHeight - 4), "\">",
                   html_text(x_name_), "</text>");
}

std::string SvgFrame::svg(std::string_view description, std::string_view marks) const {
  return cat("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", kWidth, " ", kHeight,
             "\" role=\"img\" aria-label=\"", html_text(description, 600), "\">", axes(), marks,
             "</svg>");
}

}  // namespace berth
