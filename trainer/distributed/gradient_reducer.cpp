#include "trainer/distributed/gradient_reducer.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace berth {
namespace {

// The conversions are written here as loops that compilers vectorize. They round as to_bf16() does.
struct Bf16 {
  uint16_t bits;
};

void encode(std::span<const float> values, Bf16* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(values[i]);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    out[i].bits = static_cast<uint16_t>(is_nan ? quiet : rounded);
  }
}

float decode(Bf16 value) { return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16); }

void encode(std::span<const float> values, float* out) { std::ranges::copy(values, out); }
float decode(float value) { return value; }

template <typename Element>
void decode(const Element* values, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = decode(values[i]);
}

template <typename Element>
void accumulate(const Element* values, std::span<float> sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += decode(values[i]);
}

template <typename Element>
Element* as(std::vector<std::byte>& bytes) {
  return reinterpret_cast<Element*>(bytes.data());
}

}  // namespace

GradientReducer::GradientReducer(Communicator& ranks, const ReducerOptions& options)
    : ranks_(ranks), options_(options) {}

void GradientReducer::add(std::span<float> part) {
  while (!part.empty()) {
    const auto room = static_cast<size_t>(options_.bucket_elements - open_elements_);
    const std::span<float> fits = part.first(std::min(part.size(), room));
    open_.push_back(fits);
    open_elements_ += static_cast<int64_t>(fits.size());
    if (open_elements_ == options_.bucket_elements) close_bucket();
    part = part.subspan(fits.size());
  }
}

void GradientReducer::close_bucket() {
  if (open_.empty()) return;
  background_.submit([this, bucket = std::exchange(open_, {})] { reduce(bucket); });
  open_elements_ = 0;
}

void GradientReducer::add_marked_rows(std::span<float> table, int64_t columns,
                                      std::span<int32_t> marks, int32_t mark) {
  tables_.push_back({table, static_cast<size_t>(columns), marks, mark});
}

// Marks the rows of all tables that are marked on any rank, by one exchange of a bit for each row.
void GradientReducer::mark_rows_of_all_ranks() {
  size_t rows = 0;
  for (const Table& table : tables_) rows += table.marks.size();
  const size_t bytes = (rows + 7) / 8;
  std::vector<uint8_t> own(bytes, 0), all(bytes * static_cast<size_t>(ranks_.size()));
  const auto for_each_row = [this](const auto& visit) {
    size_t bit = 0;
    for (const Table& table : tables_) {
      for (int32_t& mark : table.marks) visit(bit++, mark, table.mark);
    }
  };
  for_each_row([&](size_t bit, int32_t row, int32_t mark) {
    if ((row & mark) != 0) own[bit / 8] |= static_cast<uint8_t>(1u << bit % 8);
  });
  ranks_.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  for (size_t i = 0; i < all.size(); ++i) own[i % bytes] |= all[i];
  for_each_row([&](size_t bit, int32_t& row, int32_t mark) {
    if ((own[bit / 8] >> bit % 8 & 1) != 0) row |= mark;
  });
}

void GradientReducer::finish() {
  if (!tables_.empty()) {
    background_.submit([this] { mark_rows_of_all_ranks(); });
    background_.wait();
    for (const Table& table : tables_) {
      for (size_t row = 0; row < table.marks.size(); ++row) {
        if ((table.marks[row] & table.mark) == 0) continue;
        add(table.values.subspan(row * table.columns, table.columns));
      }
    }
    tables_.clear();
  }
  close_bucket();
  background_.wait();
}

void GradientReducer::reduce(const Bucket& bucket) {
  int64_t elements = 0;
  for (const std::span<float> part : bucket) elements += static_cast<int64_t>(part.size());
  if (elements == 0) return;
  const int64_t begin_ns = profile_clock_ns();
  const uint64_t sent_before = ranks_.sent_bytes();
  if (options_.wire_dtype == DType::kBF16) {
    reduce_as<Bf16>(bucket, elements);
  } else {
    reduce_as<float>(bucket, elements);
  }
  spans_.push_back({.name = "exchange of gradients",
                    .begin_ns = begin_ns,
                    .end_ns = profile_clock_ns(),
                    .bytes = static_cast<double>(ranks_.sent_bytes() - sent_before)});
}

template <typename Element>
void GradientReducer::reduce_as(const Bucket& bucket, int64_t elements) {
  const auto ranks = static_cast<size_t>(ranks_.size()), count = static_cast<size_t>(elements);
  const size_t share = (count + ranks - 1) / ranks;  // the last share may be longer than its data
  sent_.resize(ranks * share * sizeof(Element));
  received_.resize(sent_.size());
  Element* out = as<Element>(sent_);
  for (const std::span<float> part : bucket) {
    encode(part, out);
    out += part.size();
  }
  std::fill(out, as<Element>(sent_) + ranks * share, Element{});
  ranks_.all_to_all(sent_, received_);

  sums_.resize(share);
  decode(as<Element>(received_), std::span(sums_));
  for (size_t r = 1; r < ranks; ++r) {
    accumulate(as<Element>(received_) + r * share, std::span(sums_));
  }
  share_.resize(share * sizeof(Element));
  encode(sums_, as<Element>(share_));
  ranks_.all_gather(share_, received_);

  const Element* in = as<Element>(received_);
  for (const std::span<float> part : bucket) {
    decode(in, part);
    in += part.size();
  }
}

}  // namespace berth
