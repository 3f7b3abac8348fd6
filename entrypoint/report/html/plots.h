#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/tasks/evaluator.h"

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

struct PlotPoint {
  double x = 0, y = 0;
};

// One line of a plot.
struct PlotSeries {
  std::string name{};
  int colour = 0;         // from 0; after kPlotColours they repeat, with dashed lines
  std::string mark{};     // a letter beside the last point, so that a reader need not rely on
                          // colours
  bool has_dots = false;  // a dot at each point; for a few points
  bool is_faint = false;  // thin, behind the others
  std::vector<PlotPoint> points{};
};
inline constexpr int kPlotColours = 6;

// From `low` to `high` at `x`.
struct PlotExtent {
  double x = 0, low = 0, high = 0;
};

// Lines over the updates of a job.
struct LinePlot {
  std::string title{};
  std::string x_name = "update";
  std::vector<PlotSeries> series{};
  std::vector<PlotExtent> band{};    // of the first series
  std::string band_name{};           // empty: there is none
  std::optional<PlotPoint> best{};   // a ring around one point
  std::string best_name{};           // "best: update 300"
  std::optional<double> baseline{};  // a dashed line across
  std::string baseline_name{};
  std::vector<double> checkpoints{};  // marks at the lower edge
  std::vector<double> resumptions{};  // dashed lines from top to bottom
  bool begins_at_zero = false;        // the y axis
};

// The plot as <figure>: the heading, the picture, its legend, and a table of the same values (at
// most about forty rows) behind a disclosure, which is its text alternative. Empty where no series
// has a point.
std::string figure(const LinePlot& plot);

// How many values there are in each of some equal intervals.
struct Histogram {
  std::string title{}, x_name{};
  double first = 0, width = 1;  // the first interval begins at `first`
  std::vector<int64_t> counts{};
  std::optional<double> line{};  // a dashed line from top to bottom
  std::string line_name{};
};
// The histogram of `values` in about twenty intervals, which are no narrower than `least_width`: 1
// for whole numbers. Values that are not finite do not count.
Histogram histogram_of(std::span<const double> values, double least_width = 0);

// Each as <figure>, with a table of its values behind a disclosure. Empty without values.
std::string figure(const Histogram& histogram);
// Predicted numbers over the true ones.
std::string scatter_figure(const std::vector<NumberPair>& pairs);
// The share of right predictions over their probability.
std::string reliability_figure(const Calibration& calibration);

}  // namespace berth
