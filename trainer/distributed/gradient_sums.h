#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "storage/base/dtype.h"
#include "storage/base/profiler.h"
#include "storage/base/thread_pool.h"
#include "trainer/distributed/communicator.h"

// How ranks sum their gradients: the numbers of a message, the reduction of buckets, and the rank
// for which the others wait.
namespace berth {

// The numbers that travel between ranks, as they lie in a message: fp32, or bf16 as Bf16. The
// conversions are written as loops that compilers vectorize. They round as to_bf16() does.
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
// Numbers that already have the type of the message are copied.
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

// Marks the rows of tables that are marked on any rank, by one exchange of a bit for each row.
// `marks` holds an int32 for each row of each table; a row is marked if it has all bits of `mark`.
// A collective.
void unite_marks(Communicator& ranks, std::span<const std::span<int32_t>> marks, int32_t mark);

// The elements that travel at once, by the rank that sums them: the elements of share r, in their
// order, are summed by rank r. Shares may have different sizes.
template <typename Number>
using SharesOf = std::vector<std::vector<std::span<Number>>>;
using Shares = SharesOf<float>;

// The elements that travel at once. Where all ranks have equal shares, they are a few less.
inline constexpr int64_t kBucketElements = int64_t{4} << 20;

struct ReducerOptions {
  // The type in which gradients travel: kF32, or kBF16, which halves the bytes.
  DType wire_dtype = DType::kBF16;
  // All ranks have the same number.
  int64_t bucket_elements = kBucketElements;
};

// Replaces gradients by their sums over all ranks, beside the backward pass that makes them (Li et
// al. 2020, arXiv:2006.15704). A rank hands over each part of the gradient when it is final. A
// thread of this object reduces one bucket after another. There are two forms of a reduction, and
// both begin with a reduce-scatter: each rank receives one share of the bucket from all others, and
// sums it in fp32, in the order of the ranks. With bf16, each rank's part is rounded once.
//
// - add(): every rank gets all sums. Parts are collected into buckets of equal shares, and after
//   the reduce-scatter all ranks gather the sums. So each of n ranks sends 2(n-1)/n elements for
//   each element, which is the least that is possible. All ranks have the same bits afterwards.
//   With bf16, the sum is rounded once, too: a sum s of parts g is wrong by at most
//   2^-8 (|s| + sum of |g|), apart from far smaller terms.
// - add_shares(): each rank gets the sums of its own share, in fp32. This is what stage 1 of ZeRO
//   needs (Rajbhandari et al. 2020, arXiv:1910.02054): gather() then sends the updated values. Each
//   of the two sends (n-1)/n elements for each element, and more where shares differ in size.
//
// A bucket whose elements lie end to end in memory, in the type that travels, is sent and received
// in place. Other buckets are copied.
//
// All ranks make the same calls in the same order. Not thread-safe. Borrows the communicator, which
// nobody else may use between the first add() and the end of finish().
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
  // `shares` are a bucket whose elements are final. This rank's share becomes its sums, and all
  // other shares become zeros.
  void add_shares(Shares shares);
  // Returns when all that was added is reduced. Rethrows what a collective threw.
  void finish();

  // Every share becomes a copy of its owner's, to the bit. Not between add() and finish().
  void gather(const Shares& values);

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
  // Runs `reduction` on the thread, and records when it ran and what it sent.
  void submit(std::function<void()> reduction);
  // `Element` is the type of the numbers that are sent. The first one leaves this rank's sums in
  // share_, as `Sum`.
  template <typename Element, typename Sum, typename Number>
  void scatter(const SharesOf<Number>& shares);
  template <typename Element, typename Number>
  void sum_on_all_ranks(const SharesOf<Number>& shares);
  template <typename Element>
  void sum_on_owners(const Shares& shares);
  // Share r becomes the numbers that rank r has in share_.
  template <typename Element, typename Number>
  void gather_into(const SharesOf<Number>& shares);

  Communicator& ranks_;
  const ReducerOptions options_;
  const size_t bucket_elements_;
  Bucket<float> open_;
  Bucket<Bf16> open_rounded_;
  std::vector<Table> tables_;
  // Of the bucket that is being reduced. sent_ and received_ have a share for each rank.
  std::vector<std::byte> sent_, received_, share_;
  std::vector<ProfileSpan> spans_;
  Background background_;  // declared last: it uses the members above
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
