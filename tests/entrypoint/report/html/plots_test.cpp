#include "entrypoint/report/html/plots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <vector>

#include "entrypoint/report/html/training_curves.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LinePlot, PutsMarksThatWouldCoverEachOtherSideBySide) {
  const std::vector<PlotPoint> points = {{1, 0.5}, {2, 0.9}, {3, NAN}};
  const std::string svg = figure(LinePlot{
      .title = "accuracy",
      .series = {{.name = "one", .mark = "A", .points = points},
                 {.name = "two", .mark = "B", .points = points},
                 {.name = "three", .mark = "C", .points = points}},
  });
  const std::regex mark("class=\"mark [^>]*x=\"([0-9.]+)\" y=\"([0-9.]+)\">");
  std::vector<double> x, y;
  for (std::sregex_iterator it(svg.begin(), svg.end(), mark), end; it != end; ++it) {
    x.push_back(std::stod((*it)[1]));
    y.push_back(std::stod((*it)[2]));
  }
  ASSERT_EQ(x.size(), 3u);
  EXPECT_LE(x[1], x[0] - 12);
  EXPECT_LE(x[2], x[1] - 12);
  EXPECT_EQ(y[0], y[2]);
}

// A shorter job has no value behind its end.
TEST(LinePlot, HasATableWithoutValuesBehindTheEndOfALine) {
  const std::string svg =
      figure(LinePlot{.title = "loss",
                      .series = {{.name = "long", .points = {{1, 0.5}, {2, 0.25}, {3, 0.125}}},
                                 {.name = "short", .points = {{1, 0.75}}}}});
  EXPECT_THAT(svg, HasSubstr("<td>0.5</td><td>0.75</td>"));
  EXPECT_THAT(svg, HasSubstr("<td>0.125</td><td></td>"));
}

TEST(LinePlot, WritesDecimalsOnAxesOfUsualSize) {
  const std::string svg = figure(LinePlot{
      .title = "accuracy", .series = {{.name = "one", .points = {{1, 0.8951}, {2, 0.8957}}}}});
  EXPECT_THAT(svg, HasSubstr(">0.8952</text>"));
  EXPECT_THAT(svg, Not(HasSubstr("e-1</text>")));
  const std::string rates = figure(
      LinePlot{.title = "rate", .series = {{.name = "one", .points = {{1, 1e-5}, {2, 5e-5}}}}});
  EXPECT_THAT(rates, HasSubstr("e-5</text>"));
}

TEST(SmoothedLoss, IsAlwaysTheMeanOfAWholeWindow) {
  StepCurve curve;
  for (int64_t step = 1; step <= 48; ++step) {
    curve.add({.step = step, .loss = 100.0 - static_cast<double>(step), .examples = 8});
  }
  ASSERT_EQ(smoothing_updates(curve), 5);
  const std::vector<PlotPoint> points = smoothed_loss(curve);
  ASSERT_EQ(points.size(), 44u);
  EXPECT_EQ(points.front().x, 3);
  EXPECT_DOUBLE_EQ(points.front().y, 97);
  EXPECT_EQ(points.back().x, 46);
  EXPECT_DOUBLE_EQ(points.back().y, 54);
  const RecentLoss recent = recent_loss(curve);
  EXPECT_EQ(recent.updates, 10);
  EXPECT_DOUBLE_EQ(recent.loss, 56.5);
}

TEST(SmoothedLoss, OfFewUpdatesIsTheLossItself) {
  StepCurve curve;
  for (int64_t step = 1; step <= 4; ++step) curve.add({.step = step, .loss = 1, .examples = 8});
  EXPECT_EQ(smoothing_updates(curve), 1);
  EXPECT_EQ(smoothed_loss(curve).size(), 4u);
  EXPECT_EQ(recent_loss(curve).updates, 4);
}

TEST(Histogram, OfOneWholeNumberHasWholeTicks) {
  const std::vector<double> lengths(5, 12);
  const std::string svg = figure(histogram_of(lengths, 1));
  EXPECT_THAT(svg, HasSubstr(">12</text>"));
  EXPECT_THAT(svg, HasSubstr(">14</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">12.2</text>")));
}

}  // namespace
}  // namespace berth
