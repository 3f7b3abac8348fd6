#pragma once

#include <optional>
#include <string>
#include <vector>

namespace berth {

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

}  // namespace berth
