#include "entrypoint/report/class_events.h"

#include <algorithm>
#include <array>
#include <string>

#include "entrypoint/report/confusion_image.h"
#include "storage/base/text.h"
#include "storage/formats/plugin_events.h"

namespace berth {
namespace {

constexpr size_t kNameBytes = 60;  // of a class

// A name for a tag, which is a line of UTF-8. Long names are cut and numbered.
std::string name_of(const std::vector<ClassScore>& classes, size_t number) {
  const std::string& name = classes[number].name;
  const std::string shown = quoted(name, kNameBytes);
  const std::string inside = shown.substr(1, shown.size() - 2);
  return name.size() > kNameBytes ? cat(inside, " ", number) : inside;
}

std::vector<float> curve_of(const ThresholdCounts& counts) {
  constexpr size_t kThresholds = ThresholdCounts::kThresholds;
  const auto at_thresholds = counts.at_thresholds();
  const int64_t examples = counts.examples();
  std::vector<float> rows(6 * kThresholds);
  for (size_t i = 0; i < kThresholds; ++i) {
    const ClassCounts& here = at_thresholds[i];
    const int64_t hits = here.true_positives, false_alarms = here.predicted - hits;
    const std::array<double, 6> values = {
        static_cast<double>(hits),
        static_cast<double>(false_alarms),
        static_cast<double>(examples - here.support - false_alarms),
        static_cast<double>(here.support - hits),
        here.precision(),
        here.recall()};
    for (size_t row = 0; row < values.size(); ++row) {
      rows[row * kThresholds + i] = static_cast<float>(values[row]);
    }
  }
  return rows;
}

// The numbers of the classes, with their names in a block of code, in which Markdown has no effect.
std::string legend(const std::vector<ClassScore>& classes) {
  std::string text =
      "Each row is a true class and each column a predicted one. A cell is as dark as its share of "
      "the row.\n\n";
  for (size_t i = 0; i < classes.size(); ++i) {
    text += cat("    ", i, " ", name_of(classes, i), "\n");
  }
  return text;
}

}  // namespace

std::vector<std::vector<std::byte>> class_events(double wall_time_s, int64_t step,
                                                 const TaskScores& scores) {
  std::vector<std::vector<std::byte>> records;
  const std::vector<ThresholdCounts>& thresholds = scores.details.thresholds;
  for (size_t i = 0; i < std::min(thresholds.size(), scores.classes.size()); ++i) {
    const std::string tag = "pr_curves/" + name_of(scores.classes, i);
    records.push_back(pr_curve_event(wall_time_s, step, tag, curve_of(thresholds[i])));
  }
  if (scores.confusion.empty()) return records;
  const ConfusionImage image = confusion_image(scores.confusion);
  records.push_back(image_event(wall_time_s, step, "confusion_matrix",
                                {.width = image.width,
                                 .height = image.height,
                                 .png = image.png,
                                 .description = legend(scores.classes)}));
  return records;
}

}  // namespace berth
