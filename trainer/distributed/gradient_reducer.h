#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "storage/base/background.h"
#include "storage/base/dtype.h"
#include "storage/base/profiler.h"
#include "trainer/distributed/communicator.h"
#include "trainer/distributed/wire_numbers.h"

namespace berth {

struct ReducerOptions {
  // The type in which gradients travel: kF32, or kBF16, which halves the bytes.
  DType wire_dtype = DType::kBF16;
  // The number of elements that travel at once, or a few less, so that ranks have equal shares. All
  // ranks have the same number.
  int64_t bucket_elements = int64_t{4} << 20;
};

// Replaces gradients by their sums over all ranks, beside the backward pass that makes them (Li et
// al. 2020, arXiv:2006.15704). A rank hands over each part of the gradient when it is final. Parts
// are collected into buckets, and a thread of this object reduces one bucket after another.
//
// A bucket is reduced in two steps. Each rank receives an equal share of it from all others, and
// sums it in fp32, in the order of the ranks. All ranks then gather the sums. So each of n ranks
// sends 2(n-1)/n elements for each element, which is the least that is possible. All ranks have the
// same bits afterwards. With bf16, each rank's part and the sum are rounded once: a sum s of parts
// g is wrong by at most 2^-8 (|s| + sum of |g|), apart from far smaller terms.
//
// A bucket whose elements lie end to end in memory, in the type that travels, is sent and received
// in place. Other buckets are copied.
//
// All ranks hand over the same parts in the same order. Not thread-safe. Borrows the communicator,
// which nobody else may use between the first add() and the end of finish().
class GradientReducer {
 public:
  GradientReducer(Communicator& ranks, const ReducerOptions& options);

  // `part` is final. It may be read and written by this object until finish().
  void add(std::span<float> part);
  // The same for a part that was rounded when it was made. Throws kInternal where fp32 travels.
  void add(std::span<Bf16> part);
  // A table [rows][columns] of which most rows have no gradient: those whose mark lacks the bits of
  // `mark`, which is the same for all tables. Only rows that are marked on some rank travel, at the
  // end. They are marked on all ranks afterwards.
  void add_marked_rows(std::span<float> table, int64_t columns, std::span<int32_t> marks,
                       int32_t mark);
  // Returns when all parts are sums. Rethrows what a collective threw.
  void finish();
  // When the buckets since the last call were reduced, and the bytes that this rank has sent. Not
  // between add() and finish().
  std::vector<ProfileSpan> take_spans() { return std::exchange(spans_, {}); }

 private:
  // The parts of a bucket, which is `elements` long.
  template <typename Number>
  struct Bucket {
    std::vector<std::span<Number>> parts{};
    size_t elements = 0;
  };
  struct Table {
    std::span<float> values;
    size_t columns;
    std::span<int32_t> marks;
    int32_t mark;
  };

  template <typename Number>
  void add_to(Bucket<Number>& open, std::span<Number> part);
  template <typename Number>
  void close(Bucket<Number>& open);
  template <typename Number>
  void reduce(const Bucket<Number>& bucket);
  // `Element` is what travels.
  template <typename Element, typename Number>
  void reduce_as(const Bucket<Number>& bucket);

  Communicator& ranks_;
  const ReducerOptions options_;
  const size_t bucket_elements_;
  Bucket<float> open_;
  Bucket<Bf16> open_rounded_;
  std::vector<Table> tables_;
  std::vector<std::byte> sent_, received_, share_;  // of the bucket that is being reduced
  std::vector<ProfileSpan> spans_;
  Background background_;  // declared last: it uses the members above
};

}  // namespace berth
