#include "trainer/data/file_rows.h"

#include <algorithm>
#include <cmath>

#include "storage/base/crc32c.h"

namespace berth {
namespace {

constexpr size_t kFewRows = 10;

int quarter_octave(double size) { return static_cast<int>(std::floor(4 * std::log2(size))); }

uint32_t checksum(const Example& example) {
  uint32_t sum = 0;
  for (const std::string& text : example.texts) {
    const auto size = static_cast<uint64_t>(text.size());
    sum = crc32c(as_bytes(text), sum);
    sum = crc32c(std::as_bytes(std::span(&size, 1)), sum);
  }
  sum = crc32c(std::as_bytes(std::span(example.token_ids)), sum);
  sum = crc32c(std::as_bytes(std::span(example.labels)), sum);
  for (const Answer& answer : example.answers) sum = crc32c(as_bytes(answer.text), sum);
  return crc32c(std::as_bytes(std::span(&example.score, 1)), sum);
}

}  // namespace

void ScoreScale::add(double score) {
  ++count_;
  const double size = std::abs(score);
  largest_ = std::max(largest_, size);
  if (size > 0) ++counts_[quarter_octave(size)];
}

void ScoreScale::add(const ScoreScale& other) {
  for (const auto& [place, count] : other.counts_) counts_[place] += count;
  count_ += other.count_;
  largest_ = std::max(largest_, other.largest_);
}

bool ScoreScale::is_below(const ScoreScale& other) const {
  if (count_ < kFewRows || other.count_ < kFewRows || largest_ == 0) return false;
  if (largest_ * 3 > other.largest_) return false;
  size_t above = 0;
  for (auto at = other.counts_.upper_bound(quarter_octave(largest_)); at != other.counts_.end();
       ++at) {
    above += at->second;
  }
  return above * 3 >= other.count_;
}

void FileRows::begin_file() {
  for (const uint32_t place : own_) before_[place] = true;
  own_.clear();
  scale_ = {};
  rows_ = repeated_ = 0;
}

void FileRows::add(const Example& example, bool has_score) {
  if (has_score) scale_.add(example.score);
  if (before_.empty()) return;
  const uint32_t place = checksum(example) >> (32 - kBitsOfPlace);
  ++rows_;
  repeated_ += before_[place];
  own_.push_back(place);
}

}  // namespace berth
