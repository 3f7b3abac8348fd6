#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "storage/base/bytes.h"

// TensorBoard's event files: records in TFRecord framing, each with one message Event
// (tensorboard/compat/proto/event.proto). The first record has the version, and any number of
// others follow. The functions are thread-safe, and only parse_event() throws.
namespace berth {

// One value of a summary.
struct SummaryValue {
  std::string tag;
  std::optional<double> scalar{};  // from simple_value, or from a tensor with one element
};

// One record.
struct Event {
  double wall_time_s = 0;
  int64_t step = 0;
  std::string file_version{};  // only in the first record: "brain.Event:2"
  std::vector<SummaryValue> values{};
};

// Parses the data of one TFRecord. Throws kCorrupt, naming the byte within the record.
Event parse_event(Bytes record);

// Returns the first record of every file, with wall_time and the file_version "brain.Event:2".
std::vector<std::byte> event_file_header(double wall_time_s);

struct Scalar {
  std::string tag;
  float value;
};

// Returns one record with all `scalars` of `step`, each as a simple_value.
std::vector<std::byte> scalar_event(double wall_time_s, int64_t step,
                                    std::span<const Scalar> scalars);

// Returns one record that shows the Markdown `text` under `tag` in TensorBoard's Text tab.
std::vector<std::byte> text_event(double wall_time_s, int64_t step, const std::string& tag,
                                  const std::string& text);

// A setting of a run: a number, a switch or a text.
using HParam = std::pair<std::string, std::variant<double, bool, std::string>>;

// The record by which the HParams tab knows the settings of a run (plugins/hparams/
// plugin_data.proto). It belongs into the folder above the folders with the run's metrics.
std::vector<std::byte> hparams_event(double wall_time_s, std::span<const HParam> hparams);
// The record that says that the run has ended well.
std::vector<std::byte> hparams_end_event(double wall_time_s);

// How many values lie from `left` to `right`.
struct HistogramBucket {
  double left = 0, right = 0, count = 0;
};

// The record that the Histograms and Distributions tabs show (plugins/histogram).
std::vector<std::byte> histogram_event(double wall_time_s, int64_t step, const std::string& tag,
                                       std::span<const HistogramBucket> buckets);

// The record that the PR Curves tab shows (plugins/pr_curve): `values` are six rows with one number
// for each threshold: true positives, false positives, true negatives, false negatives, precision
// and recall. The thresholds lie at equal distances from 0 to 1.
std::vector<std::byte> pr_curve_event(double wall_time_s, int64_t step, const std::string& tag,
                                      std::span<const float> values);

// A picture as a PNG file, with its width and height in pixels. The Markdown `description` explains
// it.
struct ImageSummary {
  uint32_t width = 0, height = 0;
  std::span<const std::byte> png{};
  std::string description{};
};

// The record that the Images tab shows (plugins/image).
std::vector<std::byte> image_event(double wall_time_s, int64_t step, const std::string& tag,
                                   const ImageSummary& image);

// Puts values into buckets of one width, from the smallest value to the largest. All values are
// shown to it twice, in pieces of any size. Values that are not finite are left out.
class ValueHistogram {
 public:
  explicit ValueHistogram(size_t buckets = 30) : counts_(buckets) {}

  void widen(std::span<const float> values);  // the first time
  void count(std::span<const float> values);  // the second time
  // If all values are equal, there is one bucket around them. Without values, there is no bucket.
  std::vector<HistogramBucket> buckets() const;

 private:
  std::vector<double> counts_;
  double least_ = INFINITY, most_ = -INFINITY;
};

}  // namespace berth
