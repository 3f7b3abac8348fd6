#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "storage/base/bytes.h"
#include "storage/base/dtype.h"
#include "storage/base/profiler.h"
#include "storage/base/thread_pool.h"
#include "trainer/distributed/communicator.h"

// The numbers that travel between ranks, as they lie in a message: fp32, or bf16 as Bf16. The
// conversions are written as loops that compilers vectorize. They round as to_bf16() does.
namespace berth {

struct Bf16 {
  uint16_t bits;
};

inline void encode(std::span<const float> values, Bf16* out) {
  for (size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(values[i]);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    const bool is_nan = (bits & 0x7fffffffu) > 0x7f800000u;
    out[i].bits = static_cast<uint16_t>(is_nan ? quiet : rounded);
  }
}
// Numbers that are already what travels are copied.
inline void encode(std::span<const float> values, float* out) { std::ranges::copy(values, out); }
inline void encode(std::span<const Bf16> values, Bf16* out) { std::ranges::copy(values, out); }

inline float decode(Bf16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}
inline float decode(float value) { return value; }

template <typename Element>
void decode(const Element* values, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = decode(values[i]);
}

inline void decode(const Bf16* values, std::span<Bf16> out) {
  std::copy_n(values, out.size(), out.begin());
}

template <typename Element>
void accumulate(const Element* values, std::span<float> sums) {
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += decode(values[i]);
}

// The numbers of a message. Memory that a vector allocates is aligned for them.
template <typename Element>
Element* numbers_of(std::vector<std::byte>& bytes) {
  return reinterpret_cast<Element*>(bytes.data());
}

// A reduce-scatter, as a collective. `sent` has sums.size() numbers for each rank. Sends each rank
// its part, and sums in fp32 what all have sent to this one, in the order of the ranks. Sums in
// another type than fp32 are rounded once. `received` is memory for the numbers that arrive.
template <typename Element, typename Sum>
void scatter_sums(Communicator& ranks, Bytes sent, std::vector<std::byte>& received,
                  std::span<Sum> sums) {
  received.resize(sent.size());
  ranks.all_to_all(sent, received);
  const Element* const numbers = numbers_of<Element>(received);
  constexpr size_t kBlock = 4096;  // whose sums stay in the first-level cache
  std::array<float, kBlock> block;
  for (size_t begin = 0; begin < sums.size(); begin += kBlock) {
    const auto exact = std::span(block).first(std::min(kBlock, sums.size() - begin));
    decode(numbers + begin, exact);
    for (size_t r = 1; r < static_cast<size_t>(ranks.size()); ++r) {
      accumulate(numbers + r * sums.size() + begin, exact);
    }
    encode(exact, sums.data() + begin);
  }
}

// Marks the rows of tables that are marked on any rank, by one exchange of a bit for each row.
// `marks` holds an int32 for each row of each table; a row is marked if it has all bits of `mark`.
// A collective.
void unite_marks(Communicator& ranks, std::span<const std::span<int32_t>> marks, int32_t mark);

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

// The elements that travel at once, by the rank that owns them: the elements of share r, in their
// order, belong to rank r. Shares of all ranks have the same sizes.
using Shares = std::vector<std::vector<std::span<float>>>;

// The two halves of a reduction, for ranks that each own a share of the elements: what stage 1 of
// ZeRO needs (Rajbhandari et al. 2020, arXiv:1910.02054). Each sends (n-1)/n elements from each of
// n ranks for each element, and more where shares differ in size. All ranks call them in the same
// order. Not thread-safe. Borrows the communicator.
class ShareExchange {
 public:
  // `wire_dtype` is the type in which gradients travel: kF32, or kBF16, which rounds each rank's
  // gradient once.
  ShareExchange(Communicator& ranks, DType wire_dtype) : ranks_(ranks), wire_dtype_(wire_dtype) {}

  // Reduce-scatter: this rank's share becomes the sum over all ranks, in fp32 and in the order of
  // the ranks. All other shares become zeros.
  void scatter_sums(const Shares& gradients);
  // All-gather: every share becomes a copy of its owner's, to the bit.
  void gather(const Shares& values);

 private:
  template <typename Element>
  void scatter_sums_as(const Shares& gradients);

  Communicator& ranks_;
  const DType wire_dtype_;
  std::vector<std::byte> sent_, received_;
  std::vector<float> sums_;
};

// Notices a rank for which the others wait: one that needs at least kSlower times as long as the
// median for its share of an update, kInARow updates in a row. Not thread-safe.
class SlowRank {
 public:
  static constexpr double kSlower = 2;
  static constexpr int kInARow = 10;

  struct Found {
    int64_t rank = 0;
    double times = 0;  // as long as the median, in the last update
  };
  // Takes the seconds for which every rank computed in an update. Returns a slow rank once, when it
  // is noticed. Returns it again only if it was as fast as the others in between.
  std::optional<Found> add(std::span<const double> seconds);

 private:
  int64_t rank_ = -1;
  int in_a_row_ = 0;
};

}  // namespace berth
