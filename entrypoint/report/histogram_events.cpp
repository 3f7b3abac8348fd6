#include "entrypoint/report/histogram_events.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <utility>

#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr int64_t kPiece = 1 << 16;  // elements that are read at once

}  // namespace

std::string histogram_tag(const std::string& parameter) {
  // The group ends behind the first word that is a number, or else behind the first word.
  size_t first = std::string::npos;
  for (size_t at = 0; at < parameter.size();) {
    const size_t end = std::min(parameter.find('.', at), parameter.size());
    const bool is_number = end > at && std::isdigit(static_cast<unsigned char>(parameter[at])) != 0;
    if (first == std::string::npos) first = end;
    if (is_number) {
      first = end;
      break;
    }
    at = end + 1;
  }
  if (first >= parameter.size()) return parameter;
  std::string tag = parameter;
  tag[first] = '/';
  return tag;
}

HistogramEvents::HistogramEvents(Storage& storage, const Uri& summary_dir,
                                 const std::string& writer, const ParameterTensors& values,
                                 Clock wall_clock)
    : values_(values),
      wall_clock_(std::move(wall_clock)),
      run_(storage, summary_dir / "train", writer + ".histograms") {}

std::vector<HistogramBucket> HistogramEvents::buckets_of(size_t index) const {
  const int64_t elements = values_.specs()[index].elements();
  std::vector<float> piece(static_cast<size_t>(std::min(elements, kPiece)));
  ValueHistogram histogram;
  const auto read = [&](auto&& use) {
    for (int64_t first = 0; first < elements; first += kPiece) {
      const auto count = static_cast<size_t>(std::min(kPiece, elements - first));
      const std::span<float> values = std::span(piece).first(count);
      values_.read(index, first, values);
      use(values);
    }
  };
  read([&](std::span<const float> values) { histogram.widen(values); });
  read([&](std::span<const float> values) { histogram.count(values); });
  return histogram.buckets();
}

void HistogramEvents::on_evaluation(const EvaluationReport& report) {
  const std::span<const ParameterSpec> specs = values_.specs();
  const double now_s = wall_clock_();
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].trains) continue;
    run_.add(histogram_event(now_s, report.step, histogram_tag(specs[i].name), buckets_of(i)));
  }
  background_.submit([this, now_s] {
    try {
      run_.flush(now_s);
    } catch (const std::exception& error) {
      log_warning(
          cat("the histograms could not be stored and will be tried again: ", error.what()));
    }
  });
}

}  // namespace berth
