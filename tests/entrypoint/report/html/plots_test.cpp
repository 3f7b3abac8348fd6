#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <vector>

#include "entrypoint/report/html/distribution_plots.h"
#include "entrypoint/report/html/line_plot.h"

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

TEST(Histogram, OfOneWholeNumberHasWholeTicks) {
  const std::vector<double> lengths(5, 12);
  const std::string svg = figure(histogram_of(lengths, 1));
  EXPECT_THAT(svg, HasSubstr(">12</text>"));
  EXPECT_THAT(svg, HasSubstr(">14</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">12.2</text>")));
}

}  // namespace
}  // namespace berth
