#include "trainer/data/dataset.h"

#include <algorithm>

namespace berth {
namespace {

constexpr size_t kRecentRows = 256;

}  // namespace

Dataset::Dataset(const ExampleTable& table, std::vector<uint32_t> rows, Task task,
                 const FeatureMaker& maker, bool labelled)
    : table_(table), rows_(std::move(rows)), task_(task), maker_(maker), labelled_(labelled) {
  if (task_ == Task::kQuestionAnswering) {
    count_windows();
  } else if (!table_.spilled()) {
    kept_.resize(rows_.size());
  }
}

void Dataset::count_windows() {
  first_feature_ = {0};
  for (const uint32_t row : rows_) {
    std::vector<Features> windows = maker_.make(table_.read(row));
    first_feature_.push_back(first_feature_.back() + static_cast<uint32_t>(windows.size()));
    if (table_.spilled()) continue;
    for (Features& window : windows) kept_.push_back(std::move(window));
  }
}

int64_t Dataset::size() const { return has_windows() ? first_feature_.back() : rows(); }

int64_t Dataset::block_size() const {
  constexpr int64_t kBlock = 16384;
  return table_.spilled() ? std::min(kBlock, size()) : size();
}

int64_t Dataset::row_index(int64_t index) const {
  if (!has_windows()) return index;
  const auto after = std::upper_bound(first_feature_.begin(), first_feature_.end(), index);
  return after - first_feature_.begin() - 1;
}

const Features& Dataset::features(int64_t index) {
  const auto at = static_cast<size_t>(index);
  if (!kept_.empty()) {
    Features& kept = kept_[at];
    // Never without a token once made: special ones are always there.
    if (kept.input_ids.empty()) kept = maker_.make(table_.read(rows_[at])).front();
    return kept;
  }
  if (recent_.empty()) recent_.resize(kRecentRows);
  const int64_t row_at = row_index(index);
  Recent& recent = recent_[static_cast<size_t>(row_at) % kRecentRows];
  if (recent.row != row_at) {
    recent = {row_at, maker_.make(table_.read(rows_[static_cast<size_t>(row_at)]))};
  }
  return recent.features[has_windows() ? at - first_feature_[static_cast<size_t>(row_at)] : 0];
}

}  // namespace berth
