#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "entrypoint/inspect/column_summary.h"
#include "entrypoint/inspect/inspect.h"
#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/formats/event_reader.h"
#include "storage/formats/tfrecord.h"

namespace berth {
namespace {

using Points = std::vector<std::pair<int64_t, double>>;  // step and value

// Prints the value as the float that the file holds.
std::string shown(double value) { return cat(static_cast<float>(value)); }

std::string scalar_line(const std::string& tag, const Points& points) {
  const auto [least, most] =
      std::minmax_element(points.begin(), points.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; });
  return cat("  ", tag, ": ", grouped(points.size()), points.size() == 1 ? " point" : " points",
             ", steps ", points.front().first, " to ", points.back().first, ", last ",
             shown(points.back().second), ", from ", shown(least->second), " to ",
             shown(most->second), "\n");
}

}  // namespace

Inspection inspect_events(Storage& storage, const Uri& uri) {
  TfRecordReader records(storage.open(uri));
  std::vector<std::string> tags;  // in their order in the file
  std::map<std::string, Points> scalars;
  uint64_t events = 0;
  for (std::vector<std::byte> record; records.next(record); ++events) {
    Event event;
    try {
      event = parse_event(record);
    } catch (const Error& error) {
      throw error.at(cat("record at byte ", records.offset()));
    }
    for (const SummaryValue& value : event.values) {
      if (std::find(tags.begin(), tags.end(), value.tag) == tags.end()) tags.push_back(value.tag);
      if (value.scalar) scalars[value.tag].emplace_back(event.step, *value.scalar);
    }
  }
  std::string text = cat(uri.to_string(), ": TensorBoard events, ", grouped(events),
                         events == 1 ? " record, " : " records, ", tags.size(),
                         tags.size() == 1 ? " tag\n" : " tags\n");
  OrderedJson points = OrderedJson::object();
  for (const std::string& tag : tags) {
    const auto found = scalars.find(tag);
    text += found == scalars.end() ? cat("  ", tag, ": not a scalar\n")
                                   : scalar_line(tag, found->second);
    if (found != scalars.end()) points[tag] = found->second;
  }
  return {.text = text,
          .json = to_text(OrderedJson(
              {{"format", "tensorboard"}, {"rows", events}, {"tags", tags}, {"scalars", points}}))};
}

}  // namespace berth
