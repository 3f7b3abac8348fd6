#include "entrypoint/report/html/plots.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "entrypoint/report/html/page.h"
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
  return formatted("%.3ge%d", value / std::pow(10.0, power), power);
}

// `size`: the magnitude of the largest value of the axis.
std::string tick_text(double value, double step, double size) {
  constexpr double kLeastSize = 1e-2, kLeastStep = 1e-6;  // that decimals show without many zeros
  if (std::abs(value) < step * 1e-6) return "0";
  if (std::abs(value) >= 1e6) return power_text(value);
  if (step < 1e-3 && (size < kLeastSize || step < kLeastStep)) return power_text(value);
  if (step >= 1) return whole_number(std::llround(value));
  const int decimals = static_cast<int>(std::ceil(-std::log10(step) - 1e-9));
  return formatted("%.*f", decimals, value);
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

std::string coordinate(double value) { return formatted("%.1f", value); }

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
  constexpr size_t kMostRows = 40;
  std::set<double> rows;
  for (const PlotSeries& series : plot.series) {
    const size_t every = std::max<size_t>(1, series.points.size() / (kMostRows / 2));
    for (size_t i = 0; i < series.points.size(); ++i) {
      if (i % every == 0 || i + 1 == series.points.size()) rows.insert(series.points[i].x);
    }
  }
  return {rows.begin(), rows.end()};
}

// The value of a series at `x`. For a line, it is the value of the last point up to `x`, and there
// is none behind its end.
std::string cell(const PlotSeries& series, double x) {
  const auto after = std::ranges::upper_bound(series.points, x, {}, &PlotPoint::x);
  if (after == series.points.begin()) return "";
  const PlotPoint& point = *std::prev(after);
  const bool is_behind = after == series.points.end();
  if ((series.has_dots || is_behind) && point.x != x) return "";
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

namespace {

std::string box(const SvgFrame& frame, double from, double to, double height, const char* style,
                const std::string& title) {
  const double left = frame.x(from) + 0.75, right = frame.x(to) - 0.75, top = frame.y(height);
  return cat("<rect class=\"bar ", style, "\" x=\"", coordinate(left), "\" y=\"", coordinate(top),
             "\" width=\"", coordinate(std::max(0.5, right - left)), "\" height=\"",
             coordinate(frame.bottom() - top), "\"><title>", title, "</title></rect>");
}

// A table behind a disclosure. `rows` are elements <tr>.
std::string values_table(const std::string& title, const std::string& head,
                         const std::string& rows) {
  return cat("<details><summary>Values of ", html_text(title),
             "</summary><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Values "
             "of ",
             html_text(title), "\"><table><thead><tr>", head, "</tr></thead><tbody>", rows,
             "</tbody></table></div></details>");
}

std::string head_cells(std::initializer_list<const char*> names) {
  std::string out;
  for (const char* name : names) out += cat("<th scope=\"col\">", name, "</th>");
  return out;
}

std::string diagonal(const SvgFrame& frame, double low, double high) {
  return cat("<path class=\"baseline\" d=\"M", frame.place(low, low), "L", frame.place(high, high),
             "\"/>");
}

}  // namespace

Histogram histogram_of(std::span<const double> values, double least_width) {
  constexpr int kIntervals = 20;
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite),
                       [](double v) { return std::isfinite(v); });
  Histogram histogram;
  if (finite.empty()) return histogram;
  const auto [least, most] = std::ranges::minmax(finite);
  AxisRange range = AxisRange::covering(least, most + least_width, kIntervals);
  if (range.step < least_width) {
    range = {std::floor(least), std::floor(most) + least_width, least_width};
  }
  histogram.first = range.low;
  histogram.width = range.step;
  const auto last = static_cast<size_t>(
      std::clamp(std::round((range.high - range.low) / range.step), 1.0, 4.0 * kIntervals));
  histogram.counts.assign(last, 0);
  for (const double value : finite) {
    const auto place = static_cast<size_t>(std::max(0.0, (value - range.low) / range.step));
    ++histogram.counts[std::min(place, last - 1)];
  }
  return histogram;
}

namespace {

// A few intervals do not fill the width, and ticks are no closer than the intervals.
AxisRange x_axis(const Histogram& histogram) {
  constexpr int kFew = 4;
  const auto count = static_cast<int>(histogram.counts.size());
  const double beside = std::max(0, (kFew - count + 1) / 2) * histogram.width;
  const double end = histogram.first + count * histogram.width;
  const double least = histogram.first - beside;
  AxisRange x = AxisRange::between(histogram.first >= 0 ? std::max(0.0, least) : least,
                                   std::max(end + beside, histogram.line.value_or(end)));
  x.step = std::max(x.step, histogram.width);
  return x;
}

}  // namespace

std::string figure(const Histogram& histogram) {
  if (histogram.counts.empty()) return "";
  const int64_t most = std::ranges::max(histogram.counts);
  const SvgFrame frame(x_axis(histogram),
                       AxisRange::covering(0, static_cast<double>(std::max<int64_t>(most, 1)), 4),
                       histogram.x_name);
  std::string marks, rows;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    const double from = histogram.first + static_cast<double>(i) * histogram.width;
    const std::string interval =
        cat(rounded_text(from), " to ", rounded_text(from + histogram.width));
    if (histogram.counts[i] > 0) {
      marks += box(frame, from, from + histogram.width, static_cast<double>(histogram.counts[i]),
                   "c0", cat(interval, ": ", whole_number(histogram.counts[i])));
    }
    rows += cat("<tr><th scope=\"row\">", interval, "</th><td>", whole_number(histogram.counts[i]),
                "</td></tr>");
  }
  std::string legend;
  if (histogram.line) {
    marks += cat("<path class=\"resumed\" d=\"M", coordinate(frame.x(*histogram.line)), ",",
                 coordinate(frame.top()), "V", coordinate(frame.bottom()), "\"/>");
    legend =
        cat("<ul class=\"legend\"><li><svg class=\"swatch\" viewBox=\"0 0 28 14\" "
            "aria-hidden=\"true\"><path class=\"resumed\" d=\"M14,0V14\"/></svg>",
            html_text(histogram.line_name), "</li></ul>");
  }
  return cat("<figure><h3>", html_text(histogram.title), "</h3>",
             frame.svg(cat(histogram.title, ": a histogram by ", histogram.x_name), marks), legend,
             values_table(histogram.title,
                          cat("<th scope=\"col\">", html_text(histogram.x_name),
                              "</th><th scope=\"col\">count</th>"),
                          rows),
             "</figure>\n");
}

std::string scatter_figure(const std::vector<NumberPair>& pairs) {
  constexpr size_t kMostRows = 40;
  double least = INFINITY, most = -INFINITY;
  for (const NumberPair& pair : pairs) {
    for (const float value : {pair.truth, pair.prediction}) {
      if (!std::isfinite(value)) continue;
      least = std::min(least, static_cast<double>(value));
      most = std::max(most, static_cast<double>(value));
    }
  }
  if (least > most) return "";
  const AxisRange range = AxisRange::covering(least, most);
  const SvgFrame frame(range, range, "true value");
  std::string marks = diagonal(frame, range.low, range.high), rows;
  const size_t every = std::max<size_t>(1, pairs.size() / kMostRows);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const double truth = static_cast<double>(pairs[i].truth);
    const double prediction = static_cast<double>(pairs[i].prediction);
    if (!std::isfinite(truth) || !std::isfinite(prediction)) continue;
    marks += cat("<circle class=\"scatter c0\" r=\"2.6\" cx=\"", coordinate(frame.x(truth)),
                 "\" cy=\"", coordinate(frame.y(prediction)), "\"/>");
    if (i % every == 0) {
      rows +=
          cat("<tr><td>", rounded_text(truth), "</td><td>", rounded_text(prediction), "</td></tr>");
    }
  }
  constexpr const char* kTitle = "Predicted over true values";
  return cat("<figure><h3>", kTitle, "</h3>",
             frame.svg("Each dot is a row: its true value to the right, the predicted one upwards. "
                       "On the dashed diagonal both are equal",
                       marks),
             "<p class=\"note\">The dashed diagonal is where both are equal. ",
             whole_number(static_cast<int64_t>(pairs.size())), " rows are drawn.</p>",
             values_table(kTitle, head_cells({"true", "predicted"}), rows), "</figure>\n");
}

std::string reliability_figure(const Calibration& calibration) {
  if (calibration.predictions() == 0) return "";
  const AxisRange range{0, 1, 0.2};
  const SvgFrame frame(range, range, "probability of the prediction");
  std::string marks, rows;
  const auto& bins = calibration.bins();
  for (size_t i = 0; i < bins.size(); ++i) {
    const double from = static_cast<double>(i) / Calibration::kBins;
    const double to = static_cast<double>(i + 1) / Calibration::kBins;
    const std::string interval = cat(rounded_text(from), " to ", rounded_text(to));
    const Calibration::Bin& bin = bins[i];
    if (bin.count == 0) continue;
    marks += box(
        frame, from, to, bin.accuracy(), "c0",
        cat(interval, ": ", whole_number(bin.right), " of ", whole_number(bin.count), " right"));
    marks += cat("<circle class=\"dot c1\" r=\"3.5\" cx=\"", coordinate(frame.x((from + to) / 2)),
                 "\" cy=\"", coordinate(frame.y(bin.confidence())), "\"/>");
    rows += cat("<tr><th scope=\"row\">", interval, "</th><td>", whole_number(bin.count),
                "</td><td>", rounded_text(bin.confidence()), "</td><td>",
                rounded_text(bin.accuracy()), "</td></tr>");
  }
  constexpr const char* kTitle = "Calibration";
  return cat(
      "<figure><h3>", kTitle, "</h3>",
      frame.svg(cat("Share of right predictions by the probability that the model gives them; "
                    "expected calibration error ",
                    rounded_text(calibration.error())),
                diagonal(frame, 0, 1) + marks),
      "<ul class=\"legend\"><li><svg class=\"swatch\" viewBox=\"0 0 28 14\" aria-hidden=\"true\">"
      "<path class=\"bar c0\" d=\"M1,1H27V13H1Z\"/></svg>share that is right</li>"
      "<li><svg class=\"swatch\" viewBox=\"0 0 28 14\" aria-hidden=\"true\"><circle class=\"dot "
      "c1\" r=\"3.5\" cx=\"14\" cy=\"7\"/></svg>mean probability</li></ul>"
      "<p class=\"note\">Expected calibration error ",
      rounded_text(calibration.error()),
      ": the mean distance between bar and dot. Bars below their dots mean that the model is too "
      "sure.</p>",
      values_table(kTitle,
                   head_cells({"probability", "predictions", "mean probability", "share right"}),
                   rows),
      "</figure>\n");
}

}  // namespace berth
