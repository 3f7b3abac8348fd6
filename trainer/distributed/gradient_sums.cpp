#include "trainer/distributed/gradient_sums.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
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

// A multiple of the ranks, at least one element for each.
size_t bucket_elements(int64_t most, int ranks) {
  return static_cast<size_t>(std::max<int64_t>(1, most / ranks) * ranks);
}

// Cuts the elements of some parts into a share for each rank. All shares but the last ones have the
// same size.
template <typename Number>
SharesOf<Number> equal_shares(std::span<const std::span<Number>> parts, size_t elements,
                              size_t ranks) {
  const size_t size = (elements + ranks - 1) / ranks;
  SharesOf<Number> shares(ranks);
  size_t passed = 0;
  for (std::span<Number> part : parts) {
    while (!part.empty()) {
      const size_t rank = passed / size;
      const size_t count = std::min(part.size(), (rank + 1) * size - passed);
      shares[rank].push_back(part.first(count));
      part = part.subspan(count);
      passed += count;
    }
  }
  return shares;
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
  const Bucket<Number> bucket = std::exchange(open, {});
  submit([this, shares = equal_shares<Number>(bucket.parts, bucket.elements,
                                              static_cast<size_t>(ranks_.size()))] {
    if (options_.wire_dtype == DType::kBF16) {
      sum_on_all_ranks<Bf16>(shares);
    } else if constexpr (std::is_same_v<Number, float>) {
      sum_on_all_ranks<float>(shares);
    }
  });
}

void GradientReducer::add_shares(Shares shares) {
  submit([this, shares = std::move(shares)] {
    if (options_.wire_dtype == DType::kBF16) {
      sum_on_owners<Bf16>(shares);
    } else {
      sum_on_owners<float>(shares);
    }
  });
}

void GradientReducer::submit(std::function<void()> reduction) {
  background_.submit([this, reduction = std::move(reduction)] {
    const int64_t begin_ns = profile_clock_ns();
    const uint64_t sent_before = ranks_.sent_bytes();
    reduction();
    spans_.push_back({.name = "exchange of gradients",
                      .begin_ns = begin_ns,
                      .end_ns = profile_clock_ns(),
                      .bytes = static_cast<double>(ranks_.sent_bytes() - sent_before)});
  });
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

namespace {

// The numbers of a message. Memory that a vector allocates is aligned for them.
template <typename Element>
Element* numbers_of(std::vector<std::byte>& bytes) {
  return reinterpret_cast<Element*>(bytes.data());
}

template <typename Number>
size_t largest_of(const SharesOf<Number>& shares) {
  size_t most = 0;
  for (const std::vector<std::span<Number>>& share : shares) {
    size_t elements = 0;
    for (const std::span<Number> part : share) elements += part.size();
    most = std::max(most, elements);
  }
  return most;
}

// The elements of all shares, where they are a message as they lie: end to end, in shares of the
// same size, and in the type that travels. Else an empty span.
template <typename Element, typename Number>
std::span<Number> whole_message(const SharesOf<Number>& shares) {
  if (!std::is_same_v<Element, Number> || shares[0].empty()) return {};
  const std::span<Number> first = shares[0][0];
  for (size_t r = 0; r < shares.size(); ++r) {
    const bool follows = shares[r].size() == 1 && shares[r][0].size() == first.size() &&
                         shares[r][0].data() == first.data() + r * first.size();
    if (!follows) return {};
  }
  return {first.data(), shares.size() * first.size()};
}

// Writes the numbers of a share and zeros behind them, `count` in all.
template <typename Element, typename Number>
void pack(const std::vector<std::span<Number>>& share, Element* out, size_t count) {
  Element* const end = out + count;
  for (const std::span<Number> part : share) {
    encode(part, out);
    out += part.size();
  }
  std::fill(out, end, Element{});
}

template <typename Element, typename Number>
void unpack(const Element* in, const std::vector<std::span<Number>>& share) {
  for (const std::span<Number> part : share) {
    decode(in, part);
    in += part.size();
  }
}

// sums[i] = the sum of element i over the shares [ranks][sums.size()] that the ranks have sent, in
// fp32 and in the order of the ranks. Sums in another type than fp32 are rounded once.
template <typename Element, typename Sum>
void add_up(const Element* shares, size_t ranks, std::span<Sum> sums) {
  constexpr size_t kBlock = 4096;  // whose sums stay in the first-level cache
  std::array<float, kBlock> block;
  for (size_t begin = 0; begin < sums.size(); begin += kBlock) {
    const auto exact = std::span(block).first(std::min(kBlock, sums.size() - begin));
    decode(shares + begin, exact);
    for (size_t r = 1; r < ranks; ++r) {
      const Element* const values = shares + r * sums.size() + begin;
      for (size_t i = 0; i < exact.size(); ++i) exact[i] += decode(values[i]);
    }
    encode(exact, sums.data() + begin);
  }
}

}  // namespace

template <typename Element, typename Sum, typename Number>
void GradientReducer::scatter(const SharesOf<Number>& shares) {
  const size_t ranks = shares.size(), most = largest_of(shares);
  const std::span<Number> whole = whole_message<Element>(shares);
  if (whole.empty()) {
    sent_.resize(ranks * most * sizeof(Element));
    for (size_t r = 0; r < ranks; ++r) {
      pack(shares[r], numbers_of<Element>(sent_) + r * most, most);
    }
  }
  received_.resize(ranks * most * sizeof(Element));
  ranks_.all_to_all(whole.empty() ? Bytes(sent_) : std::as_bytes(whole), received_);
  share_.resize(most * sizeof(Sum));
  add_up(numbers_of<Element>(received_), ranks, std::span(numbers_of<Sum>(share_), most));
}

template <typename Element, typename Number>
void GradientReducer::gather_into(const SharesOf<Number>& shares) {
  const std::span<Number> whole = whole_message<Element>(shares);
  if (!whole.empty()) return ranks_.all_gather(share_, std::as_writable_bytes(whole));
  received_.resize(shares.size() * share_.size());
  ranks_.all_gather(share_, received_);
  for (size_t r = 0; r < shares.size(); ++r) {
    unpack(numbers_of<Element>(received_) + r * share_.size() / sizeof(Element), shares[r]);
  }
}

template <typename Element, typename Number>
void GradientReducer::sum_on_all_ranks(const SharesOf<Number>& shares) {
  scatter<Element, Element>(shares);
  gather_into<Element>(shares);
}

template <typename Element>
void GradientReducer::sum_on_owners(const Shares& shares) {
  if (largest_of(shares) == 0) return;
  scatter<Element, float>(shares);
  for (size_t r = 0; r < shares.size(); ++r) {
    if (r == static_cast<size_t>(ranks_.rank())) {
      unpack(numbers_of<float>(share_), shares[r]);
    } else {
      for (const std::span<float> part : shares[r]) std::ranges::fill(part, 0.0f);
    }
  }
}

void GradientReducer::gather(const Shares& values) {
  const size_t most = largest_of(values);
  if (most == 0) return;
  share_.resize(most * sizeof(float));
  pack(values[static_cast<size_t>(ranks_.rank())], numbers_of<float>(share_), most);
  gather_into<float>(values);
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
