#include "entrypoint/job/describe_rows.h"

#include <algorithm>
#include <numeric>

#include "storage/base/text.h"

namespace berth {

std::string describe_columns(const ColumnChoice& columns) {
  if (columns.text.empty()) return "";
  std::string text = cat("text ", quoted(columns.text));
  if (!columns.text_pair.empty()) text += cat(" and ", quoted(columns.text_pair));
  if (!columns.negative.empty()) text += cat(", negatives ", quoted(columns.negative));
  if (!columns.label.empty()) text += cat(", labels ", quoted(columns.label));
  if (!columns.weight.empty()) text += cat(", weights ", quoted(columns.weight));
  return text;
}

std::vector<int64_t> rows_of_classes(const std::vector<uint32_t>& rows,
                                     const std::deque<int32_t>& strata,
                                     const std::vector<int32_t>& classes, size_t num_classes) {
  std::vector<int64_t> counts(num_classes);
  for (const uint32_t row : rows) {
    ++counts[static_cast<size_t>(classes[static_cast<size_t>(strata[row])])];
  }
  return counts;
}

std::string describe_classes(const std::vector<std::string>& labels,
                             const std::vector<int64_t>& counts) {
  constexpr size_t kMostNamed = 10, kLargest = 7;
  std::vector<size_t> order(labels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  size_t named = order.size();
  if (order.size() > kMostNamed) {
    named = kLargest;
    std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) { return counts[i]; });
  }
  std::string text;
  for (size_t i = 0; i < named; ++i) {
    text += cat(i == 0 ? "" : ", ", quoted(labels[order[i]]), " ", counts[order[i]]);
  }
  if (named == order.size()) return text;
  const int64_t most = counts[order[named]], least = counts[order.back()];
  text += cat(", and ", order.size() - named, " others with ", least);
  if (most > least) text += cat(" to ", most);
  return text;
}

}  // namespace berth
