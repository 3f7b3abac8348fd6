#include "trainer/cpu/sharded_gradients.h"

#include <algorithm>
#include <span>

#include "trainer/distributed/marked_rows.h"

namespace berth {
namespace {

std::span<float> elements_of(const Tensor& block, ElementRange range) {
  return {block.f32() + range.begin, static_cast<size_t>(range.count)};
}

}  // namespace

ShardedGradients::ShardedGradients(Communicator& ranks, DType wire_dtype,
                                   const OptimizerShards& shards, Parameters& parameters)
    : ranks_(ranks), shards_(shards), parameters_(parameters), exchange_(ranks, wire_dtype) {}

void ShardedGradients::are_final(int64_t depth) {
  const std::span<const OptimizerShards::Bucket> buckets = shards_.buckets();
  for (; handed_over_ < buckets.size() && buckets[handed_over_].depth >= depth; ++handed_over_) {
    background_.submit([this, &bucket = buckets[handed_over_]] {
      scatter(shares_of(bucket, parameters_.gradients()));
    });
  }
}

void ShardedGradients::scatter(const Shares& shares) {
  const int64_t begin_ns = profile_clock_ns();
  const uint64_t sent_before = ranks_.sent_bytes();
  exchange_.scatter_sums(shares);
  spans_.push_back({.name = "exchange of gradients",
                    .begin_ns = begin_ns,
                    .end_ns = profile_clock_ns(),
                    .bytes = static_cast<double>(ranks_.sent_bytes() - sent_before)});
}

void ShardedGradients::finish() {
  are_final(0);
  handed_over_ = 0;
  background_.wait();
  std::vector<std::span<int32_t>> marks;
  for (const OptimizerShards::Table& table : shards_.tables()) {
    marks.emplace_back(parameters_.marks(table.parameter).i32(), static_cast<size_t>(table.rows));
  }
  // The owner alone knows which rows have moments.
  unite_marks(ranks_, marks, kHasGradient);
  unite_marks(ranks_, marks, kHasMoments);
  Rows with_gradient(static_cast<size_t>(shards_.ranks()));
  changed_rows_.assign(static_cast<size_t>(shards_.ranks()), {});
  for (size_t i = 0; i < marks.size(); ++i) {
    const OptimizerShards::Table& table = shards_.tables()[i];
    for (int64_t row = 0; row < table.rows; ++row) {
      int32_t& mark = marks[i][static_cast<size_t>(row)];
      if (mark == 0) continue;
      const auto owner = static_cast<size_t>(shards_.owner_of_row(row));
      if ((mark & kHasGradient) != 0) with_gradient[owner].emplace_back(&table, row);
      changed_rows_[owner].emplace_back(&table, row);
      if (owner != static_cast<size_t>(ranks_.rank())) mark = 0;
    }
  }
  for_each_part(with_gradient, parameters_.gradients(),
                [this](const Shares& shares) { scatter(shares); });
}

void ShardedGradients::gather_values() {
  const Tensor values = parameters_.trained_values();
  for (const OptimizerShards::Bucket& bucket : shards_.buckets()) {
    exchange_.gather(shares_of(bucket, values));
  }
  for_each_part(changed_rows_, values, [this](const Shares& shares) { exchange_.gather(shares); });
}

Shares ShardedGradients::shares_of(const OptimizerShards::Bucket& bucket,
                                   const Tensor& block) const {
  Shares shares(bucket.shares.size());
  for (size_t r = 0; r < shares.size(); ++r) {
    for (const ElementRange& range : bucket.shares[r]) {
      shares[r].push_back(elements_of(block, range));
    }
  }
  return shares;
}

// A part ends where the longest of its shares is full. All ranks have the same rows, and so make
// the same parts.
void ShardedGradients::for_each_part(const Rows& rows, const Tensor& block,
                                     const std::function<void(const Shares&)>& exchange) const {
  const int64_t most = OptimizerShards::kBucketElements / shards_.ranks();
  std::vector<size_t> done(rows.size(), 0);
  while (true) {
    Shares shares(rows.size());
    bool has_rows = false;
    for (size_t r = 0; r < rows.size(); ++r) {
      for (int64_t elements = 0; done[r] < rows[r].size() && elements < most; ++done[r]) {
        const auto& [table, row] = rows[r][done[r]];
        shares[r].push_back(
            elements_of(block, {table->begin + row * table->columns, table->columns}));
        elements += table->columns;
        has_rows = true;
      }
    }
    if (!has_rows) return;
    exchange(shares);
  }
}

}  // namespace berth
