#include "trainer/cpu/gradient_exchange.h"

#include <algorithm>
#include <array>

#include "storage/base/clock.h"
#include "storage/base/log.h"
#include "storage/base/text.h"

namespace berth {
namespace {

std::span<float> all_of(const Tensor& x) { return {x.f32(), static_cast<size_t>(x.elements())}; }

std::span<Bf16> all_rounded_of(const Tensor& x) {
  return {reinterpret_cast<Bf16*>(x.bf16()), static_cast<size_t>(x.elements())};
}

std::span<float> part_of(const Tensor& block, ElementRange range) {
  return {block.f32() + range.begin, static_cast<size_t>(range.count)};
}

}  // namespace

GradientExchange::GradientExchange(Communicator& ranks, DType wire_dtype, Parameters& parameters,
                                   const OptimizerShards* shards)
    : ranks_(ranks),
      parameters_(parameters),
      shards_(shards),
      reducer_(ranks, {.wire_dtype = wire_dtype}),
      began_s_(steady_clock_s()) {
  if (shards_ != nullptr) {
    for (const OptimizerShards::Bucket& bucket : shards_->buckets()) {
      deepest_first_.push_back({bucket.depth, deepest_first_.size()});
    }
    return;
  }
  const std::span<const ParameterSpec> specs = parameters.specs();
  for (size_t i = parameters.first_trained(); i < specs.size(); ++i) {
    deepest_first_.push_back({specs[i].depth, i});
  }
  std::ranges::stable_sort(deepest_first_, std::greater<>(), &Part::depth);
}

bool GradientExchange::begin_update(bool stops, std::span<double> weights) {
  std::vector<double> own = {stops ? 1.0 : 0.0};
  own.insert(own.end(), weights.begin(), weights.end());
  std::ranges::fill(weights, 0.0);
  bool all_go_on = true;
  for (const std::vector<double>& of_rank : gather_values(ranks_, own)) {
    all_go_on = all_go_on && of_rank[0] == 0;
    for (size_t i = 0; i < weights.size(); ++i) weights[i] += of_rank[1 + i];
  }
  began_s_ = steady_clock_s();
  return all_go_on;
}

void GradientExchange::are_final(int64_t depth) {
  while (handed_over_ < deepest_first_.size() && deepest_first_[handed_over_].depth >= depth) {
    hand_over(deepest_first_[handed_over_++].index);
  }
}

void GradientExchange::hand_over(size_t index) {
  if (shards_ != nullptr) {
    return reducer_.add_shares(shares_of(shards_->buckets()[index], parameters_.gradients()));
  }
  const Tensor gradient = parameters_.gradient(index), marks = parameters_.marks(index);
  if (gradient.dtype == DType::kBF16) return reducer_.add(all_rounded_of(gradient));
  if (!marks) return reducer_.add(all_of(gradient));
  reducer_.add_marked_rows(all_of(gradient), parameters_.specs()[index].columns(),
                           {marks.i32(), static_cast<size_t>(marks.rows())}, kHasGradient);
}

void GradientExchange::finish(Profiler* profiler) {
  computed_s_ = steady_clock_s() - began_s_;
  are_final(0);
  handed_over_ = 0;
  reducer_.finish();
  if (shards_ != nullptr) hand_over_rows();
  for (const ProfileSpan& span : reducer_.take_spans()) {
    if (profiler != nullptr) profiler->add_beside(span);
  }
}

// Reduces the rows of the shards' tables, whose marks the ranks unite first.
void GradientExchange::hand_over_rows() {
  std::vector<std::span<int32_t>> marks;
  for (const OptimizerShards::Table& table : shards_->tables()) {
    marks.emplace_back(parameters_.marks(table.parameter).i32(), static_cast<size_t>(table.rows));
  }
  // The owner alone knows which rows have moments.
  unite_marks(ranks_, marks, kHasGradient);
  unite_marks(ranks_, marks, kHasMoments);
  Rows with_gradient(static_cast<size_t>(shards_->ranks()));
  changed_rows_.assign(static_cast<size_t>(shards_->ranks()), {});
  for (size_t i = 0; i < marks.size(); ++i) {
    const OptimizerShards::Table& table = shards_->tables()[i];
    for (int64_t row = 0; row < table.rows; ++row) {
      int32_t& mark = marks[i][static_cast<size_t>(row)];
      if (mark == 0) continue;
      const auto owner = static_cast<size_t>(shards_->owner_of_row(row));
      if ((mark & kHasGradient) != 0) with_gradient[owner].emplace_back(&table, row);
      changed_rows_[owner].emplace_back(&table, row);
      if (owner != static_cast<size_t>(ranks_.rank())) mark = 0;
    }
  }
  for_each_part(with_gradient, parameters_.gradients(),
                [this](const Shares& shares) { reducer_.add_shares(shares); });
  reducer_.finish();
}

void GradientExchange::sum(StepState& state) {
  const std::array<double, 4> own = {state.loss_sum, state.examples, computed_s_, state.squares};
  const std::vector<std::vector<double>> all = gather_values(ranks_, own);
  state.loss_sum = state.examples = 0;
  // All ranks have the same gradients without shards, but other kinds of CPUs round their norm
  // otherwise. Weights would then differ.
  state.squares = shards_ == nullptr ? all.front()[3] : 0;
  std::vector<double> seconds;
  for (const std::vector<double>& of_rank : all) {
    state.loss_sum += of_rank[0];
    state.examples += of_rank[1];
    seconds.push_back(of_rank[2]);
    if (shards_ != nullptr) state.squares += of_rank[3];
  }
  if (ranks_.rank() == 0) notice_slow_rank(seconds);
}

void GradientExchange::notice_slow_rank(std::span<const double> seconds) {
  const auto slow = slow_.add(seconds);
  if (!slow) return;
  log_warning(cat("worker ", slow->rank, " needs ", formatted("%.1f", slow->times),
                  " times as long as the others for its part of an update, and they wait for it"));
}

void GradientExchange::fetch_values() {
  if (shards_ == nullptr) return;
  const Tensor values = parameters_.trained_values();
  for (const OptimizerShards::Bucket& bucket : shards_->buckets()) {
    reducer_.gather(shares_of(bucket, values));
  }
  for_each_part(changed_rows_, values, [this](const Shares& shares) { reducer_.gather(shares); });
}

Shares GradientExchange::shares_of(const OptimizerShards::Bucket& bucket,
                                   const Tensor& block) const {
  Shares shares(bucket.shares.size());
  for (size_t r = 0; r < shares.size(); ++r) {
    for (const ElementRange& range : bucket.shares[r]) shares[r].push_back(part_of(block, range));
  }
  return shares;
}

// Each share of a part takes rows until it is full. All ranks have the same rows, and so make the
// same parts.
void GradientExchange::for_each_part(const Rows& rows, const Tensor& block,
                                     const std::function<void(const Shares&)>& fn) const {
  const int64_t most = kBucketElements / shards_->ranks();
  std::vector<size_t> done(rows.size(), 0);
  while (true) {
    Shares shares(rows.size());
    bool has_rows = false;
    for (size_t r = 0; r < rows.size(); ++r) {
      for (int64_t elements = 0; done[r] < rows[r].size() && elements < most; ++done[r]) {
        const auto& [table, row] = rows[r][done[r]];
        shares[r].push_back(part_of(block, {table->begin + row * table->columns, table->columns}));
        elements += table->columns;
        has_rows = true;
      }
    }
    if (!has_rows) return;
    fn(shares);
  }
}

}  // namespace berth
