#include "trainer/cpu/optimizer_shards.h"

#include <algorithm>
#include <functional>

namespace berth {

OptimizerShards::OptimizerShards(std::span<const ParameterSpec> specs, int64_t ranks,
                                 int64_t bucket_elements)
    : ranks_(ranks), elements_(static_cast<size_t>(ranks)) {
  std::vector<int64_t> begins(specs.size());
  std::vector<size_t> deepest_first;
  int64_t begin = 0;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!specs[i].trains) continue;
    begins[i] = begin;
    begin += specs[i].elements();
    if (specs[i].is_looked_up) {
      tables_.push_back({i, begins[i], specs[i].shape[0], specs[i].columns()});
    } else {
      deepest_first.push_back(i);
    }
  }
  std::ranges::stable_sort(deepest_first, std::greater<>(),
                           [&](size_t i) { return specs[i].depth; });
  std::vector<Part> open;
  int64_t room = bucket_elements, depth = 0;
  for (const size_t i : deepest_first) {
    depth = specs[i].depth;
    for (int64_t done = 0; done < specs[i].elements();) {
      const int64_t count = std::min(room, specs[i].elements() - done);
      open.push_back({i, {begins[i] + done, count}});
      done += count;
      room -= count;
      if (room > 0) continue;
      add_bucket(open, depth);
      open.clear();
      room = bucket_elements;
    }
  }
  add_bucket(open, depth);
  table_begin_ = elements_;
  for (const Table& table : tables_) add_table(table);
  std::ranges::sort(pieces_, std::less<>(), &Piece::begin);
}

// All shares but the last ones have the same size.
void OptimizerShards::add_bucket(std::span<const Part> parts, int64_t depth) {
  int64_t elements = 0;
  for (const Part& part : parts) elements += part.range.count;
  if (elements == 0) return;
  const int64_t share = (elements + ranks_ - 1) / ranks_;
  Bucket bucket{.depth = depth, .shares = {}};
  bucket.shares.resize(static_cast<size_t>(ranks_));
  int64_t passed = 0;
  for (const Part& part : parts) {
    for (int64_t done = 0; done < part.range.count;) {
      const int64_t rank = passed / share;
      const int64_t count = std::min(part.range.count - done, (rank + 1) * share - passed);
      const ElementRange range{part.range.begin + done, count};
      int64_t& at = elements_[static_cast<size_t>(rank)];
      bucket.shares[static_cast<size_t>(rank)].push_back(range);
      pieces_.push_back({range.begin, count, part.parameter, rank, at});
      at += count;
      done += count;
      passed += count;
    }
  }
  buckets_.push_back(std::move(bucket));
}

void OptimizerShards::add_table(const Table& table) {
  for (int64_t row = 0; row < table.rows; row += kRowsTogether) {
    const int64_t rank = owner_of_row(row);
    const int64_t count = std::min(kRowsTogether, table.rows - row) * table.columns;
    int64_t& at = elements_[static_cast<size_t>(rank)];
    pieces_.push_back({table.begin + row * table.columns, count, table.parameter, rank, at});
    at += count;
  }
}

std::vector<OptimizerShards::Piece> OptimizerShards::pieces(ElementRange range) const {
  const int64_t end = range.begin + range.count;
  auto piece = std::ranges::upper_bound(pieces_, range.begin, std::less<>(), &Piece::begin);
  if (piece != pieces_.begin()) --piece;
  std::vector<Piece> found;
  for (; piece != pieces_.end() && piece->begin < end; ++piece) {
    const int64_t from = std::max(range.begin, piece->begin);
    const int64_t to = std::min(end, piece->begin + piece->count);
    if (from >= to) continue;
    found.push_back(*piece);
    found.back().at += from - piece->begin;
    found.back().begin = from;
    found.back().count = to - from;
  }
  return found;
}

}  // namespace berth
