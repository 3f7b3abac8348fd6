#include "trainer/data/dataset.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr size_t kRecentRows = 256;
constexpr int64_t kJudgedRows = 64;

size_t held_bytes(const Features& features) {
  constexpr size_t kHeapBytes = 16;  // of each allocation: its header, and rounding on average
  size_t size_bytes = sizeof(Features);
  const auto add = [&](const auto& values) {
    if (values.capacity() > 0) size_bytes += values.capacity() * sizeof(values[0]) + kHeapBytes;
  };
  add(features.input_ids);
  add(features.token_type_ids);
  add(features.ends);
  add(features.classes);
  add(features.targets);
  add(features.words);
  add(features.context);
  return size_bytes;
}

uint32_t token_count(const Features& features) {
  return static_cast<uint32_t>(features.input_ids.size());
}

}  // namespace

Dataset::Dataset(const ExampleTable& table, std::vector<uint32_t> rows, Task task,
                 const FeatureMaker& maker, bool labelled)
    : table_(table), rows_(std::move(rows)), task_(task), maker_(maker), labelled_(labelled) {
  const InputKind inputs = traits(task_).inputs;
  if (inputs == InputKind::kQuestion || inputs == InputKind::kDocument) {
    count_windows();
  } else if (!table_.spilled()) {
    kept_.resize(rows_.size());
  }
}

std::vector<Features> make_features(const ExampleTable& table, const FeatureMaker& maker,
                                    uint32_t row) {
  try {
    std::vector<Features> made = maker.make(table.read(row));
    for (const Features& features : made) {
      if (!features.input_ids.empty()) continue;
      throw Error(Code::kBadData, "the text has no tokens", "", "remove the row, or fill it in");
    }
    return made;
  } catch (const Error& error) {
    const Error located = error.at(cat("row ", table.source_row(row)));
    throw table.name.empty() ? located : located.at(table.name);
  }
}

std::vector<Features> Dataset::make(uint32_t row) const {
  return make_features(table_, maker_, row);
}

void Dataset::count_windows() {
  first_feature_ = {0};
  for (const uint32_t row : rows_) {
    std::vector<Features> windows = make(row);
    first_feature_.push_back(first_feature_.back() + static_cast<uint32_t>(windows.size()));
    for (const Features& window : windows) lengths_.push_back(token_count(window));
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

int64_t Dataset::length(int64_t index) {
  if (!lengths_.empty()) return lengths_[static_cast<size_t>(index)];
  return static_cast<int64_t>(features(index).input_ids.size());
}

size_t Dataset::first_vector(int64_t index) {
  const int64_t first =
      has_windows() ? first_feature_[static_cast<size_t>(row_index(index))] : index;
  int64_t tokens = 0;
  for (int64_t before = first; before < index; ++before) tokens += length(before);
  return static_cast<size_t>(tokens);
}

// Several threads call this for different rows, so no two threads write to the same place.
void Dataset::count_tokens_of(size_t row) {
  lengths_[row] =
      token_count(kept_.empty() ? make(rows_[row]).front() : features(static_cast<int64_t>(row)));
}

void Dataset::count_tokens(int threads, const std::atomic<bool>& stop) {
  if (!lengths_.empty()) return;
  lengths_.resize(static_cast<size_t>(size()));
  const auto parts = static_cast<size_t>(threads);
  std::vector<std::exception_ptr> failures(parts);
  const auto count_part = [&](size_t part) {
    try {
      const size_t end = rows_.size() * (part + 1) / parts;
      for (size_t row = rows_.size() * part / parts; row < end && !stop; ++row) {
        count_tokens_of(row);
      }
    } catch (...) {
      failures[part] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> workers;
    for (size_t part = 1; part < parts; ++part) workers.emplace_back(count_part, part);
    count_part(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

size_t Dataset::memory_bytes() {
  const size_t of_rows =
      (rows_.size() + first_feature_.size() + lengths_.size()) * sizeof(uint32_t);
  const auto all = static_cast<int64_t>(kept_.size());  // with rows on disk, only a few are cached
  if (all == 0) return of_rows;
  const int64_t judged = std::min(kJudgedRows, all);
  size_t size_bytes = 0;
  for (int64_t i = 0; i < judged; ++i) size_bytes += held_bytes(features(all * i / judged));
  return of_rows + size_bytes * static_cast<size_t>(all) / static_cast<size_t>(judged);
}

const Features& Dataset::features(int64_t index) {
  const auto at = static_cast<size_t>(index);
  if (!kept_.empty()) {
    Features& kept = kept_[at];
    // Features without tokens have not been made yet. Made ones have at least one token.
    if (kept.input_ids.empty()) kept = make(rows_[at]).front();
    return kept;
  }
  if (recent_.empty()) recent_.resize(kRecentRows);
  const int64_t row_at = row_index(index);
  Recent& recent = recent_[static_cast<size_t>(row_at) % kRecentRows];
  if (recent.row != row_at) {
    recent = {row_at, make(rows_[static_cast<size_t>(row_at)])};
  }
  return recent.features[has_windows() ? at - first_feature_[static_cast<size_t>(row_at)] : 0];
}

}  // namespace berth
