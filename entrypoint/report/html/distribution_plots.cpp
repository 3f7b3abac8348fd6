#include "entrypoint/report/html/distribution_plots.h"

#include <algorithm>
#include <cmath>

#include "entrypoint/report/html/markup.h"
#include "entrypoint/report/html/svg_frame.h"
#include "storage/base/text.h"

namespace berth {
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
