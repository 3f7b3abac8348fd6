#include "trainer/distributed/gradient_reducer.h"

#include <algorithm>
#include <utility>

#include "trainer/distributed/marked_rows.h"
#include "trainer/distributed/scatter_sums.h"
#include "trainer/distributed/wire_numbers.h"

namespace berth {

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
  Element* out = numbers_of<Element>(sent_);
  for (const std::span<float> part : bucket) {
    encode(part, out);
    out += part.size();
  }
  std::fill(out, numbers_of<Element>(sent_) + ranks * share, Element{});
  sums_.resize(share);
  scatter_sums<Element>(ranks_, sent_, received_, sums_);

  share_.resize(share * sizeof(Element));
  encode(sums_, numbers_of<Element>(share_));
  ranks_.all_gather(share_, received_);

  const Element* in = numbers_of<Element>(received_);
  for (const std::span<float> part : bucket) {
    decode(in, part);
    in += part.size();
  }
}

}  // namespace berth
