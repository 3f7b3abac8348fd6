#include "trainer/distributed/gradient_reducer.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "storage/base/error.h"
#include "trainer/distributed/marked_rows.h"
#include "trainer/distributed/scatter_sums.h"
#include "trainer/distributed/wire_numbers.h"

namespace berth {
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

}  // namespace berth
