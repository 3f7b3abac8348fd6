#include "trainer/data/example_table.h"

#include <algorithm>
#include <span>

#include "storage/base/crc32c.h"
#include "storage/base/error.h"
#include "storage/base/text.h"
#include "trainer/data/split.h"

namespace berth {

namespace {

// Adds what training uses of an example to a checksum.
uint32_t digest_of(const Example& example, uint32_t crc) {
  const auto add = [&crc](const auto& values) {
    const auto count = static_cast<uint32_t>(values.size());
    crc = crc32c(std::as_bytes(std::span(&count, 1)), crc);
    crc = crc32c(std::as_bytes(std::span(values)), crc);
  };
  for (const std::string& text : example.texts) add(text);
  add(example.token_ids);
  add(example.token_types);
  add(example.labels);
  for (const Answer& answer : example.answers) {
    add(answer.text);
    add(std::vector{answer.start});
  }
  add(std::vector{example.score, example.weight});
  return crc;
}

}  // namespace

void ExampleTable::append(const Example& example) {
  digest_ = digest_of(example, digest_);
  has_ids |= !example.id.empty();
  if (rows_ == kMostRows) throw Error(Code::kBadData, cat("has more than ", kMostRows, " rows"));
  const uint64_t end = (file_ ? file_->size() : 0) + buffer_.size();
  if (blocks_.empty() || rows_ - blocks_.back().first_row == kRowsOfBlock ||
      (end - blocks_.back().offset >= kBytesOfBlock &&
       !repeats_text(buffer_, example, last_texts_))) {
    begin_block();
  }
  append_example(buffer_, example, last_texts_);
  ++rows_;
}

// The next row is the first one of a block. Only whole blocks are moved to the file.
void ExampleTable::begin_block() {
  last_texts_.clear();
  if (buffer_.size() >= memory_bytes_) {
    if (!file_) file_ = std::make_unique<SpillFile>();
    file_->append(as_bytes(buffer_));
    buffer_.clear();
  }
  blocks_.push_back({static_cast<uint32_t>(rows_), (file_ ? file_->size() : 0) + buffer_.size()});
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
  for (const std::string& label : labels.names()) {
    digest_ = crc32c(as_bytes(label), digest_);
  }
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

// The rows from the first one of the block with `row` on, and how many of them come before `row`.
ExampleTable::FoundRow ExampleTable::find_row(uint32_t row, std::string& storage) const {
  const auto next = std::upper_bound(
      blocks_.begin(), blocks_.end(), row,
      [](uint32_t wanted, const Block& block) { return wanted < block.first_row; });
  const Block& block = *(next - 1);
  const uint32_t before = row - block.first_row;
  if (!file_) return {std::string_view(buffer_).substr(block.offset), before};
  const uint64_t end = next == blocks_.end() ? file_->size() : next->offset;
  storage.resize(end - block.offset);
  file_->read_at(block.offset, std::as_writable_bytes(std::span(storage)));
  return {storage, before};
}

size_t ExampleTable::memory_bytes() const {
  return buffer_.capacity() + blocks_.size() * sizeof(Block) + left_out_.size() * sizeof(uint32_t) +
         source_rows_.size() * sizeof(uint64_t);
}

uint64_t ExampleTable::source_row(uint32_t row) const {
  if (!source_rows_.empty()) return source_rows_[row];
  const auto after = std::upper_bound(left_out_.begin(), left_out_.end(), row);
  return row + static_cast<uint64_t>(after - left_out_.begin());
}

Example ExampleTable::read(uint32_t row) const {
  if (stored_) return stored_->read(row);
  thread_local std::string storage;
  auto [rows, before] = find_row(row, storage);
  size_t at = 0;
  TextPlaces places;
  for (; before > 0; --before) skip_example(rows, at, places);
  Example example = parse_example(rows, at, places);
  if (storage.capacity() > 2 * kBytesOfBlock) std::string().swap(storage);  // of a long row
  return example;
}

}  // namespace berth
