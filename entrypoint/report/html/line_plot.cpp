#include "entrypoint/report/html/line_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "entrypoint/report/html/markup.h"
#include "entrypoint/report/html/svg_frame.h"
#include "storage/base/text.h"

namespace berth {
namespace {

struct Extent {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

SvgFrame frame_of(const LinePlot& plot) {
  Extent x, y;
  for (const PlotSeries& series : plot.series) {
    for (const PlotPoint& point : series.points) {
      x.add(point.x);
      y.add(point.y);
    }
  }
  for (const PlotExtent& one : plot.band) {
    y.add(one.low);
    y.add(one.high);
  }
  if (plot.baseline) y.add(*plot.baseline);
  if (plot.begins_at_zero) y.add(0);
  x.add(0);
  return SvgFrame(AxisRange::between(x.least, x.most), AxisRange::covering(y.least, y.most, 4),
                  plot.x_name);
}

std::string path_of(const SvgFrame& frame, const std::vector<PlotPoint>& points) {
  std::string d;
  for (const PlotPoint& point : points) {
    if (!std::isfinite(point.y)) continue;
    d += cat(d.empty() ? "M" : "L", frame.place(point.x, point.y));
  }
  return d;
}

std::string band_path(const SvgFrame& frame, const std::vector<PlotExtent>& band) {
  std::string d;
  for (const PlotExtent& one : band) d += cat(d.empty() ? "M" : "L", frame.place(one.x, one.high));
  for (auto one = band.rbegin(); one != band.rend(); ++one) {
    d += cat("L", frame.place(one->x, one->low));
  }
  return d + "Z";
}

// The classes of a series, which give its colour and its dashes.
std::string style_of(const PlotSeries& series) {
  constexpr int kDashes = 4;
  const int dashes = series.colour / kPlotColours % kDashes;
  return cat("c", series.colour % kPlotColours, dashes > 0 ? cat(" d", dashes) : "");
}

// One series. The browser shows the title of a dot where the pointer rests.
std::string lines_of(const SvgFrame& frame, const LinePlot& plot, const PlotSeries& series) {
  std::string out = cat("<path class=\"line ", style_of(series), series.is_faint ? " faint" : "",
                        "\" d=\"", path_of(frame, series.points), "\"/>");
  if (!series.has_dots && series.points.size() > 1) return out;
  for (const PlotPoint& point : series.points) {
    if (!std::isfinite(point.y)) continue;
    out += cat("<circle class=\"dot ", style_of(series), "\" r=\"3.5\" cx=\"",
               coordinate(frame.x(point.x)), "\" cy=\"", coordinate(frame.y(point.y)), "\"><title>",
               html_text(series.name), " ", rounded_text(point.y), ", ", html_text(plot.x_name),
               " ", rounded_text(point.x, 6), "</title></circle>");
  }
  return out;
}

// The marks of the series, above their last points. Marks that would cover each other stand side by
// side.
std::string end_marks(const SvgFrame& frame, const std::vector<PlotSeries>& series) {
  constexpr double kWidth = 12, kHeight = 13;
  std::string out;
  std::vector<PlotPoint> taken;  // in pixels
  for (const PlotSeries& one : series) {
    const auto last = std::ranges::find_if(
        one.points.rbegin(), one.points.rend(), [](double y) { return std::isfinite(y); },
        &PlotPoint::y);
    if (one.mark.empty() || last == one.points.rend()) continue;
    PlotPoint at{frame.x(last->x), std::max(frame.y(last->y) - 7, frame.top() + 10)};
    const auto covers = [&](const PlotPoint& other) {
      return std::abs(other.x - at.x) < kWidth && std::abs(other.y - at.y) < kHeight;
    };
    while (std::ranges::any_of(taken, covers)) at.x -= kWidth;
    taken.push_back(at);
    out +=
        cat("<text class=\"mark ", style_of(one), "\" text-anchor=\"end\" x=\"", coordinate(at.x),
            "\" y=\"", coordinate(at.y), "\">", html_text(one.mark), "</text>");
  }
  return out;
}

std::string marks_of(const SvgFrame& frame, const LinePlot& plot) {
  std::string out;
  if (!plot.band.empty()) {
    out += cat("<path class=\"band ", style_of(plot.series.front()), "\" d=\"",
               band_path(frame, plot.band), "\"/>");
  }
  for (const double at : plot.resumptions) {
    out += cat("<path class=\"resumed\" d=\"M", coordinate(frame.x(at)), ",",
               coordinate(frame.top()), "V", coordinate(frame.bottom()), "\"/>");
  }
  if (plot.baseline) {
    out += cat("<path class=\"baseline\" d=\"M", coordinate(frame.left()), ",",
               coordinate(frame.y(*plot.baseline)), "H", coordinate(frame.right()), "\"/>");
  }
  for (const double at : plot.checkpoints) {
    out += cat("<path class=\"checkpoint\" d=\"M", coordinate(frame.x(at)), ",",
               coordinate(frame.bottom() - 7), "l4,7h-8z\"/>");
  }
  for (const PlotSeries& series : plot.series) out += lines_of(frame, plot, series);
  out += end_marks(frame, plot.series);
  if (plot.best) {
    out += cat("<circle class=\"best\" r=\"7\" cx=\"", coordinate(frame.x(plot.best->x)),
               "\" cy=\"", coordinate(frame.y(plot.best->y)), "\"/>");
  }
  return out;
}

std::string legend_entry(const std::string& swatch, const std::string& name) {
  return cat("<li><svg class=\"swatch\" viewBox=\"0 0 28 14\" aria-hidden=\"true\">", swatch,
             "</svg>", isolated(name), "</li>");
}

std::string legend(const LinePlot& plot) {
  std::string out = "<ul class=\"legend\">";
  for (const PlotSeries& series : plot.series) {
    std::string swatch = cat("<path class=\"line ", style_of(series),
                             series.is_faint ? " faint" : "", "\" d=\"M1,7H27\"/>");
    if (series.has_dots) {
      swatch += cat("<circle class=\"dot ", style_of(series), "\" r=\"3.5\" cx=\"14\" cy=\"7\"/>");
    }
    out += legend_entry(swatch, series.name);
  }
  if (!plot.band.empty()) {
    out += legend_entry(
        cat("<path class=\"band ", style_of(plot.series.front()), "\" d=\"M1,1H27V13H1Z\"/>"),
        plot.band_name);
  }
  if (plot.best) {
    out += legend_entry("<circle class=\"best\" r=\"5\" cx=\"14\" cy=\"7\"/>", plot.best_name);
  }
  if (plot.baseline) {
    out += legend_entry("<path class=\"baseline\" d=\"M1,7H27\"/>", plot.baseline_name);
  }
  if (!plot.checkpoints.empty()) {
    out += legend_entry("<path class=\"checkpoint\" d=\"M14,4l4,7h-8z\"/>", "checkpoint");
  }
  if (!plot.resumptions.empty()) {
    out += legend_entry("<path class=\"resumed\" d=\"M14,0V14\"/>", "resumed here");
  }
  return out + "</ul>";
}

// The x of the table's rows: every point that has a dot, and of lines evenly spaced ones.
std::vector<double> table_rows(const LinePlot& plot) {
  constexpr size_t kMost = 40;
  std::set<double> rows;
  for (const PlotSeries& series : plot.series) {
    const size_t every = std::max<size_t>(1, series.points.size() / (kMost / 2));
    for (size_t i = 0; i < series.points.size(); ++i) {
      if (i % every == 0 || i + 1 == series.points.size()) rows.insert(series.points[i].x);
    }
  }
  return {rows.begin(), rows.end()};
}

// The value of a series at `x`. For a line, it is the value of the last point up to `x`.
std::string cell(const PlotSeries& series, double x) {
  const auto after = std::ranges::upper_bound(series.points, x, {}, &PlotPoint::x);
  if (after == series.points.begin()) return "";
  const PlotPoint& point = *std::prev(after);
  if (series.has_dots && point.x != x) return "";
  return rounded_text(point.y);
}

std::string table(const LinePlot& plot) {
  std::string out = cat("<details><summary>Values of ", html_text(plot.title),
                        "</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                        "aria-label=\"Values of ",
                        html_text(plot.title), "\"><table><thead><tr><th scope=\"col\">",
                        html_text(plot.x_name), "</th>");
  for (const PlotSeries& series : plot.series) {
    out += cat("<th scope=\"col\">", isolated(series.name), "</th>");
  }
  out += "</tr></thead><tbody>";
  for (const double x : table_rows(plot)) {
    out += cat("<tr><th scope=\"row\">", rounded_text(x, 6), "</th>");
    for (const PlotSeries& series : plot.series) out += cat("<td>", cell(series, x), "</td>");
    out += "</tr>";
  }
  return out + "</tbody></table></div></details>";
}

// What the plot shows, in a sentence.
std::string description(const LinePlot& plot) {
  std::string text = plot.title + " by " + plot.x_name;
  for (const PlotSeries& series : plot.series) {
    if (series.points.empty()) continue;
    text += cat("; ", series.name, " from ", rounded_text(series.points.front().y), " to ",
                rounded_text(series.points.back().y));
  }
  return text;
}

}  // namespace

std::string figure(const LinePlot& plot) {
  const bool is_empty = std::ranges::all_of(
      plot.series, [](const PlotSeries& series) { return series.points.empty(); });
  if (is_empty) return "";
  const SvgFrame frame = frame_of(plot);
  return cat("<figure><h3>", html_text(plot.title), "</h3>",
             frame.svg(description(plot), marks_of(frame, plot)), legend(plot), table(plot),
             "</figure>\n");
}

}  // namespace berth
