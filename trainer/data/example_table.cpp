#include "trainer/data/example_table.h"

#include <algorithm>

#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/example_codec.h"
#include "trainer/data/split.h"

namespace berth {

void ExampleTable::append(const Example& example) {
  has_ids |= !example.id.empty();
  if (rows_ == kMostRows) throw Error(Code::kBadData, cat("has more than ", kMostRows, " rows"));
  const uint64_t in_file = file_ ? file_->size() : 0;
  if (rows_ % kRowsPerOffset == 0) {
    if (buffer_.size() >= memory_bytes_) {
      if (!file_) file_ = std::make_unique<SpillFile>();
      file_->append(as_bytes(buffer_));
      buffer_.clear();
      offsets_.push_back(file_->size());
    } else {
      offsets_.push_back(in_file + buffer_.size());
    }
  }
  append_example(buffer_, example);
  ++rows_;
}

void ExampleTable::adopt(std::unique_ptr<StoredExamples> stored) {
  stored_ = std::move(stored);
  rows_ = stored_->rows();
}

void ExampleTable::add_key(const Example& example, std::string_view split_key, Task task) {
  const bool has_class = traits(task).labels == LabelKind::kClass && !example.labels.empty();
  keys_.hashes.push_back(text_hash(split_key));
  keys_.strata.push_back(has_class ? example.labels[0] : 0);
}

void ExampleTable::finish() {
  if (rows_ == 0) throw Error(Code::kBadData, "has no rows");
  labels.settle();
  settle_strata();
  if (!file_) return;
  file_->append(as_bytes(buffer_));
  std::string().swap(buffer_);
}

void ExampleTable::settle_strata() {
  const std::vector<int32_t> first = labels.first_entries();
  for (int32_t& stratum : keys_.strata) {
    if (stratum >= 0 && static_cast<size_t>(stratum) < first.size()) {
      stratum = first[static_cast<size_t>(stratum)];
    }
  }
}

std::string_view ExampleTable::span_of_rows(size_t first, std::string& storage) const {
  const uint64_t begin = offsets_[first / kRowsPerOffset];
  const size_t next = first / kRowsPerOffset + 1;
  if (!file_) return std::string_view(buffer_).substr(begin);
  const uint64_t end = next < offsets_.size() ? offsets_[next] : file_->size();
  storage.resize(end - begin);
  file_->read_at(begin, std::as_writable_bytes(std::span(storage)));
  return storage;
}

size_t ExampleTable::memory_bytes() const {
  return buffer_.capacity() + offsets_.size() * sizeof(uint64_t) +
         left_out_.size() * sizeof(uint32_t);
}

uint64_t ExampleTable::source_row(uint32_t row) const {
  const auto after = std::upper_bound(left_out_.begin(), left_out_.end(), row);
  return row + static_cast<uint64_t>(after - left_out_.begin());
}

Example ExampleTable::read(uint32_t row) const {
  if (stored_) return stored_->read(row);
  thread_local std::string storage;
  std::string_view rows = span_of_rows(row, storage);
  for (size_t skipped = row % kRowsPerOffset; skipped > 0; --skipped) skip_example(rows);
  return parse_example(rows);
}

}  // namespace berth
