#include "trainer/data/source_order.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "trainer/data/batcher.h"

namespace berth {
namespace {

constexpr uint32_t kScheduleStream = 0xFFFFFFFE;  // no source has this number

}  // namespace

SourceOrder::SourceOrder(std::vector<RowSource> sources, SourceMix mix, int64_t batch_size,
                         bool drop_remainder, uint64_t seed)
    : batch_size_(batch_size), mix_(mix), seed_(seed) {
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

std::span<const int64_t> SourceOrder::rows(int64_t epoch, int64_t update) {
  schedule(epoch);
  const auto [number, before] = schedule_[static_cast<size_t>(update)];
  Source& source = sources_[number];
  // The updates of a source count on from epoch to epoch, so that each pass over it is whole.
  const int64_t chunk = epoch * source.per_epoch + before, pass = chunk / source.chunks;
  if (source.pass != pass) permute(source.rows, seed_, pass, number, source.order);
  source.pass = pass;
  const int64_t begin = chunk % source.chunks * batch_size_,
                end = std::min(begin + batch_size_, source.rows);
  rows_.clear();
  for (int64_t i = begin; i < end; ++i) {
    rows_.push_back(source.first + source.order[static_cast<size_t>(i)]);
  }
  return rows_;
}

}  // namespace berth
