#include "trainer/distributed/gradient_sums.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "storage/base/error.h"

namespace berth {

void unite_marks(Communicator& ranks, std::span<const std::span<int32_t>> marks, int32_t mark) {
  size_t rows = 0;
  for (const std::span<int32_t> table : marks) rows += table.size();
  const size_t bytes = (rows + 7) / 8;
  if (bytes == 0) return;
  std::vector<uint8_t> own(bytes, 0), all(bytes * static_cast<size_t>(ranks.size()));
  const auto for_each_row = [&](const auto& visit) {
    size_t bit = 0;
    for (const std::span<int32_t> table : marks) {
      for (int32_t& row : table) visit(bit++, row);
    }
  };
  for_each_row([&](size_t bit, int32_t row) {
    if ((row & mark) == mark) own[bit / 8] |= static_cast<uint8_t>(1u << bit % 8);
  });
  ranks.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  for (size_t i = 0; i < all.size(); ++i) own[i % bytes] |= all[i];
  for_each_row([&](size_t bit, int32_t& row) {
    if ((own[bit / 8] >> bit % 8 & 1) != 0) row |= mark;
  });
}

namespace {

// At least one element for each rank.
size_t bucket_elements(int64_t most, int ranks) {
  return static_cast<size_t>(std::max<int64_t>(1, most / ranks) * ranks);
}

}  // namespace

GradientReducer::GradientReducer(Communicator& ranks, const ReducerOptions& options)
    : ranks_(ranks),
      options_(options),
      bucket_elements_(bucket_elements(options.bucket_elements, ranks.size())) {}

template <typename Number>
void GradientReducer::add_to(Bucket<Number>& open, std::span<Number> part) {
  while (!part.empty()) {
    const std::span<Number> fits =
        part.first(std::min(part.size(), bucket_elements_ - open.elements));
    part = part.subspan(fits.size());
    std::vector<std::span<Number>>& parts = open.parts;
    if (!parts.empty() && parts.back().data() + parts.back().size() == fits.data()) {
      parts.back() = {parts.back().data(), parts.back().size() + fits.size()};
    } else {
      parts.push_back(fits);
    }
    open.elements += fits.size();
    if (open.elements == bucket_elements_) close(open);
  }
}

void GradientReducer::add(std::span<float> part) { add_to(open_, part); }

void GradientReducer::add(std::span<Bf16> part) {
  if (options_.wire_dtype != DType::kBF16) {
    throw Error(Code::kInternal, "a rounded gradient cannot travel in fp32");
  }
  add_to(open_rounded_, part);
}

template <typename Number>
void GradientReducer::close(Bucket<Number>& open) {
  if (open.elements == 0) return;
  background_.submit([this, bucket = std::exchange(open, {})] { reduce(bucket); });
}

void GradientReducer::add_marked_rows(std::span<float> table, int64_t columns,
                                      std::span<int32_t> marks, int32_t mark) {
  tables_.push_back({table, static_cast<size_t>(columns), marks, mark});
}

void GradientReducer::finish() {
  if (!tables_.empty()) {
    background_.submit([this] {
      std::vector<std::span<int32_t>> marks;
      for (const Table& table : tables_) marks.push_back(table.marks);
      unite_marks(ranks_, marks, tables_[0].mark);
    });
    background_.wait();
    for (const Table& table : tables_) {
      for (size_t row = 0; row < table.marks.size(); ++row) {
        if ((table.marks[row] & table.mark) == 0) continue;
        add(table.values.subspan(row * table.columns, table.columns));
      }
    }
    tables_.clear();
  }
  close(open_);
  close(open_rounded_);
  background_.wait();
}

template <typename Number>
void GradientReducer::reduce(const Bucket<Number>& bucket) {
  const int64_t begin_ns = profile_clock_ns();
  const uint64_t sent_before = ranks_.sent_bytes();
  if (options_.wire_dtype == DType::kBF16) {
    reduce_as<Bf16>(bucket);
  } else if constexpr (std::is_same_v<Number, float>) {
    reduce_as<float>(bucket);
  }
  spans_.push_back({.name = "exchange of gradients",
                    .begin_ns = begin_ns,
                    .end_ns = profile_clock_ns(),
                    .bytes = static_cast<double>(ranks_.sent_bytes() - sent_before)});
}

template <typename Element, typename Number>
void GradientReducer::reduce_as(const Bucket<Number>& bucket) {
  const auto ranks = static_cast<size_t>(ranks_.size());
  const size_t share = (bucket.elements + ranks - 1) / ranks;  // the last one may be shorter
  const bool is_in_place = std::is_same_v<Element, Number> && bucket.parts.size() == 1 &&
                           bucket.elements == ranks * share;
  if (!is_in_place) {
    sent_.resize(ranks * share * sizeof(Element));
    Element* out = numbers_of<Element>(sent_);
    for (const std::span<Number> part : bucket.parts) {
      encode(part, out);
      out += part.size();
    }
    std::fill(out, numbers_of<Element>(sent_) + ranks * share, Element{});
  }
  share_.resize(share * sizeof(Element));
  scatter_sums<Element>(ranks_, is_in_place ? std::as_bytes(bucket.parts[0]) : Bytes(sent_),
                        received_, std::span(numbers_of<Element>(share_), share));
  if (is_in_place) return ranks_.all_gather(share_, std::as_writable_bytes(bucket.parts[0]));
  ranks_.all_gather(share_, received_);

  const Element* in = numbers_of<Element>(received_);
  for (const std::span<Number> part : bucket.parts) {
    decode(in, part);
    in += part.size();
  }
}

namespace {

using Share = std::vector<std::span<float>>;

size_t elements_of(const Share& share) {
  size_t elements = 0;
  for (const std::span<float> part : share) elements += part.size();
  return elements;
}

size_t largest_of(const Shares& shares) {
  size_t most = 0;
  for (const Share& share : shares) most = std::max(most, elements_of(share));
  return most;
}

// Writes the numbers of a share and zeros behind them, `count` in all.
template <typename Element>
void encode_share(const Share& share, Element* out, size_t count) {
  Element* const end = out + count;
  for (const std::span<float> part : share) {
    encode(part, out);
    out += part.size();
  }
  std::fill(out, end, Element{});
}

void copy_to(const Share& share, const float* values) {
  for (const std::span<float> part : share) {
    std::copy_n(values, part.size(), part.begin());
    values += part.size();
  }
}

}  // namespace

void ShareExchange::scatter_sums(const Shares& gradients) {
  if (wire_dtype_ == DType::kBF16) return scatter_sums_as<Bf16>(gradients);
  scatter_sums_as<float>(gradients);
}

template <typename Element>
void ShareExchange::scatter_sums_as(const Shares& gradients) {
  const size_t ranks = gradients.size(), most = largest_of(gradients);
  if (most == 0) return;
  const auto own = static_cast<size_t>(ranks_.rank());
  sent_.resize(ranks * most * sizeof(Element));
  for (size_t r = 0; r < ranks; ++r) {
    encode_share(gradients[r], numbers_of<Element>(sent_) + r * most, most);
    if (r == own) continue;
    for (const std::span<float> part : gradients[r]) std::ranges::fill(part, 0.0f);
  }
  sums_.resize(most);
  berth::scatter_sums<Element>(ranks_, sent_, received_, std::span(sums_));
  copy_to(gradients[own], sums_.data());
}

void ShareExchange::gather(const Shares& values) {
  const size_t ranks = values.size(), most = largest_of(values);
  if (most == 0) return;
  const auto own = static_cast<size_t>(ranks_.rank());
  sent_.resize(most * sizeof(float));
  received_.resize(ranks * sent_.size());
  encode_share(values[own], numbers_of<float>(sent_), most);
  ranks_.all_gather(sent_, received_);
  for (size_t r = 0; r < ranks; ++r) {
    if (r != own) copy_to(values[r], numbers_of<float>(received_) + r * most);
  }
}

std::optional<SlowRank::Found> SlowRank::add(std::span<const double> seconds) {
  std::vector<double> sorted(seconds.begin(), seconds.end());
  std::ranges::sort(sorted);
  const double median = sorted[(sorted.size() - 1) / 2];  // of two ranks the faster one
  const auto slowest = std::ranges::max_element(seconds);
  const int64_t rank = slowest - seconds.begin();
  if (median <= 0 || *slowest < kSlower * median) {
    rank_ = -1;
    in_a_row_ = 0;
    return std::nullopt;
  }
  in_a_row_ = rank == rank_ ? in_a_row_ + 1 : 1;
  rank_ = rank;
  if (in_a_row_ != kInARow) return std::nullopt;
  return Found{.rank = rank, .times = *slowest / median};
}

}  // namespace berth
