#pragma once

#include <string>
#include <string_view>

namespace berth {

// The values along one axis, and its ticks: round numbers that cover them.
struct AxisRange {
  double low = 0, high = 1, step = 0.25;

  // The range for values from `least` to `most`, with about `ticks` ticks. Where they are equal, it
  // is a range around them. Where one is not finite or beyond 1e300, it is from 0 to 1.
  static AxisRange covering(double least, double most, int ticks = 5);
  // The same, but it ends at the values and not at ticks.
  static AxisRange between(double least, double most, int ticks = 5);
};

// The frame of a plot in SVG: axes, grid lines and tick labels, and places for values. All plots
// have the same size in units of SVG, so that their texts are legible on a phone, too.
class SvgFrame {
 public:
  static constexpr double kWidth = 480, kHeight = 264;

  SvgFrame(AxisRange x, AxisRange y, std::string x_name);

  // Where a value is drawn; values outside of the range, at its end.
  double x(double value) const;
  double y(double value) const;
  // "12.3,45.6"
  std::string place(double x_value, double y_value) const;
  double bottom() const { return kBottom; }
  double top() const { return kTop; }
  double left() const { return kLeft; }
  double right() const { return kRight; }

  // The element <svg> with the axes and, over them, `marks`. `description` describes the picture in
  // a sentence; it is text, which is escaped here.
  std::string svg(std::string_view description, std::string_view marks) const;

 private:
  static constexpr double kLeft = 62, kRight = 468, kTop = 10, kBottom = 220;

  std::string axes() const;

  const AxisRange x_, y_;
  const std::string x_name_;
};

// A coordinate with one decimal.
std::string coordinate(double value);

}  // namespace berth
