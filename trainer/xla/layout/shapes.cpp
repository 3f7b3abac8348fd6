#include "trainer/xla/layout/shapes.h"

#include <algorithm>
#include <set>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

constexpr int64_t kSharedRowLength = 128;
constexpr int64_t kFewestRows = 4;
// The numbers of rows, in sixteenths of the number for a full batch. Batches of a number of texts
// need fewer by chance. Batches of a token budget need a little more, because sequences begin at
// multiples of 8; how much more depends on their lengths.
constexpr int64_t kOfExamples[] = {4, 6, 8, 10, 12, 16};
constexpr int64_t kOfTokens[] = {8, 16, 18, 20, 24};

int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The most rows that pack_rows() may need.
int64_t most_rows(const BatchLimits& limits, int64_t longest, int64_t row_length) {
  const int64_t by_sequences =
      divided_up(limits.sequences, row_length / (divided_up(longest, 8) * 8));
  // Of two rows, one is more than half full: the second was begun by a sequence that did not fit
  // the first. A sequence of n tokens takes at most n + 7 columns, and at most 8 n.
  const int64_t columns = std::min(limits.tokens + 7 * limits.sequences, 8 * limits.tokens);
  const int64_t by_tokens = divided_up(2 * columns, row_length) + 1;
  return std::max<int64_t>(1, std::min(by_sequences, by_tokens));
}

}  // namespace

int64_t row_length_for(const BatchLimits& limits, int64_t longest, int64_t replicas) {
  const int64_t one = std::max<int64_t>(1, divided_up(longest, 8)) * 8;
  const int64_t long_ones =
      std::min(limits.sequences, limits.tokens / std::max<int64_t>(longest, 1));
  return one * std::max<int64_t>(
                   1, std::min(kSharedRowLength / one, long_ones / (kFewestRows * replicas)));
}

int64_t full_rows(const BatchLimits& limits, int64_t longest, int64_t replicas) {
  return std::max<int64_t>(
      1, divided_up(limits.tokens, replicas * row_length_for(limits, longest, replicas)));
}

std::vector<BatchShape> batch_shapes(const BatchLimits& limits, int64_t longest, int64_t replicas) {
  const int64_t row_length = row_length_for(limits, longest, replicas);
  const int64_t most =
      divided_up(most_rows(limits, std::max<int64_t>(longest, 1), row_length), replicas);
  const bool has_budget = limits.tokens < limits.sequences * longest;
  const int64_t full = has_budget ? full_rows(limits, longest, replicas) : most;
  std::set<int64_t> all_rows = {most};
  for (const int64_t sixteenths : has_budget ? std::span<const int64_t>(kOfTokens) : kOfExamples) {
    all_rows.insert(std::min(divided_up(full * sixteenths, 16), most));
  }
  // Masked tokens cost a product with the whole vocabulary, so each replica has room for little
  // more than its share of them. A batch that has them together takes the largest shape.
  const int64_t share = divided_up(3 * limits.most_masked(), 2 * replicas);
  std::vector<BatchShape> shapes;
  for (const int64_t rows : all_rows) {
    const int64_t tokens = rows * row_length;
    int64_t masked = std::min(tokens, limits.most_masked());
    if (rows < most) masked = std::min(masked, share);
    shapes.push_back({.rows = rows,
                      .row_length = row_length,
                      .sequences = std::max<int64_t>(1, std::min(tokens / 8, limits.sequences)),
                      .masked = masked});
  }
  return shapes;
}

const BatchShape& smallest_shape(std::span<const BatchShape> shapes, const BatchShape& needed) {
  const auto fits = [&](const BatchShape& shape) {
    return shape.rows >= needed.rows && shape.sequences >= needed.sequences &&
           shape.masked >= needed.masked;
  };
  const auto found = std::find_if(shapes.begin(), shapes.end(), fits);
  if (found != shapes.end()) return *found;
  throw Error(Code::kInternal,
              cat("a batch of ", needed.rows, " rows, ", needed.sequences, " sequences and ",
                  needed.masked, " masked tokens is larger than the engine's largest"));
}

}  // namespace berth
