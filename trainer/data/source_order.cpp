#include "trainer/data/source_order.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "trainer/data/batcher.h"
#include "trainer/data/distinct_texts.h"

namespace berth {
namespace {

constexpr uint32_t kScheduleStream = 0xFFFFFFFE;  // no source has this number

}  // namespace

SourceOrder::SourceOrder(std::vector<RowSource> sources, SourceMix mix, int64_t batch_size,
                         bool drop_remainder, uint64_t seed, DistinctTexts* distinct)
    : batch_size_(batch_size),
      mix_(mix),
      drops_remainder_(drop_remainder),
      seed_(seed),
      distinct_(distinct) {
  int64_t first = 0;
  for (const RowSource& source : sources) {
    assert(source.rows > 0 && source.weight > 0);
    const int64_t whole = source.rows / batch_size;
    const bool has_rest = source.rows % batch_size > 0 && !(drop_remainder && whole > 0);
    const int64_t chunks = whole + (has_rest ? 1 : 0);
    const auto weighed =
        static_cast<int64_t>(std::llround(source.weight * static_cast<double>(chunks)));
    sources_.push_back({.first = first,
                        .rows = source.rows,
                        .chunks = chunks,
                        .per_epoch = std::max<int64_t>(1, weighed)});
    first += source.rows;
  }
  if (mix == SourceMix::kRoundRobin) {
    const int64_t least = std::ranges::min_element(sources_, {}, &Source::chunks)->chunks;
    for (Source& source : sources_) source.per_epoch = least;
  }
  schedule(0);
}

void SourceOrder::schedule(int64_t epoch) {
  if (epoch == epoch_) return;
  epoch_ = epoch;
  std::vector<uint32_t> turns;  // the source of each update
  if (mix_ == SourceMix::kRoundRobin) {
    for (int64_t i = 0; i < sources_.front().per_epoch; ++i) {
      for (uint32_t source = 0; source < sources_.size(); ++source) turns.push_back(source);
    }
  } else {
    std::vector<uint32_t> in_order, places;
    for (uint32_t source = 0; source < sources_.size(); ++source) {
      in_order.insert(in_order.end(), static_cast<size_t>(sources_[source].per_epoch), source);
    }
    permute(std::ssize(in_order), seed_, epoch, kScheduleStream, places);
    for (const uint32_t place : places) turns.push_back(in_order[place]);
  }
  schedule_.clear();
  std::vector<int64_t> counts(sources_.size());
  for (const uint32_t source : turns) {
    schedule_.push_back({.source = source, .before = counts[source]++});
  }
}

// Where the updates of a pass begin: behind as many rows as fill one, and before a row that shares
// a text with the update.
void SourceOrder::cut(Source& source) {
  source.begins.clear();
  for (int64_t i = 0; i < source.rows; ++i) {
    const int64_t row = source.first + source.order[static_cast<size_t>(i)];
    const bool is_full = source.begins.empty() || i - source.begins.back() == batch_size_;
    if (is_full || (distinct_ != nullptr && !distinct_->may_join(row))) {
      source.begins.push_back(i);
      if (distinct_ != nullptr) distinct_->begin_batch();
    }
    if (distinct_ != nullptr) distinct_->join(row);
  }
  const bool has_rest = source.rows - source.begins.back() < batch_size_;
  if (!drops_remainder_ || !has_rest || source.begins.size() == 1) {
    source.begins.push_back(source.rows);
  }
}

void SourceOrder::begin_pass(uint32_t number, int64_t pass, int64_t before) {
  Source& source = sources_[number];
  source.pass = pass;
  source.before = before;
  permute(source.rows, seed_, pass, number, source.order);
  if (distinct_ != nullptr) {
    distinct_->arrange(source.first, source.order);
    source.repeating = 0;
    for (int64_t i = 0; i < source.rows; ++i) {
      source.repeating += distinct_->repeats(source.first + i) ? 1 : 0;
    }
  }
  cut(source);
}

void SourceOrder::seek(uint32_t number, int64_t chunk) {
  Source& source = sources_[number];
  if (distinct_ == nullptr) {
    const int64_t pass = chunk / source.chunks;
    if (source.pass != pass) begin_pass(number, pass, pass * source.chunks);
    return;
  }
  // Each pass has a number of updates of its own.
  if (source.pass < 0 || chunk < source.before) begin_pass(number, 0, 0);
  for (;;) {
    const int64_t behind = source.before + std::ssize(source.begins) - 1;
    if (chunk < behind) return;
    begin_pass(number, source.pass + 1, behind);
  }
}

std::span<const int64_t> SourceOrder::rows(int64_t epoch, int64_t update) {
  schedule(epoch);
  const auto [number, before] = schedule_[static_cast<size_t>(update)];
  Source& source = sources_[number];
  // The updates of a source count on from epoch to epoch, so that each pass over it is whole.
  const int64_t chunk = epoch * source.per_epoch + before;
  seek(number, chunk);
  const auto place = static_cast<size_t>(chunk - source.before);
  rows_.clear();
  for (int64_t i = source.begins[place]; i < source.begins[place + 1]; ++i) {
    rows_.push_back(source.first + source.order[static_cast<size_t>(i)]);
  }
  ends_pass_ = place + 2 == source.begins.size();
  return rows_;
}

int64_t SourceOrder::repeating_rows() const {
  int64_t rows = 0;
  for (const Source& source : sources_) rows += source.repeating;
  return rows;
}

}  // namespace berth
