#include <bit>

#include "trainer/xla/stablehlo/dimensions.h"
#include "trainer/xla/stablehlo/operations.h"

namespace berth::stablehlo {
namespace {

// The number of rows that one product adds.
constexpr int64_t kBlock = 32;

// Row i becomes row i + by of x [N,...], behind rows of zeros.
Value shifted(Value x, int64_t by) { return pad(slice(x, 0, 0, x.size(0) - by), 0, by, 0); }

// Where ids are equal: [N,...] by ids [N,...] and `others`, which has fewer dimensions.
Value are_equal(Value ids, Value others) {
  return compare(ids, Comparison::kEqual,
                 broadcast(others, ids.shape(), range(0, others.shape().size())));
}

// x [...,W] where the truth [...] holds, else 0.
Value only_where(Value is_so, Value x) {
  return select(broadcast(is_so, x.shape(), range(0, is_so.shape().size())), x, 0);
}

struct Sorted {
  Value ids, order;  // s32 [N]: ascending, and where each was before
};

// An id and its place are sorted as one number.
Sorted sorted(Value ids, int64_t rows) {
  const int64_t count = ids.size(0);
  const auto bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(count - 1)));
  const bool is_short = static_cast<uint64_t>(rows) >> (32 - bits) == 0;
  const ElementType element = is_short ? ElementType::kU32 : ElementType::kU64;
  const double range = static_cast<double>(int64_t{1} << bits);
  const Value both = sort(convert(ids, element) * range | iota(ids.graph(), element, {count}, 0));
  return {.ids = convert(shift_right(both, bits), ElementType::kS32),
          .order = convert(both & (range - 1), ElementType::kS32)};
}

// For rows x [B,K,W] with ascending ids [B,K]: the sums of each row and of all rows before it that
// have its id.
Value running_sums(Value x, Value ids) {
  const int64_t blocks = x.size(0), width = x.size(2);
  const Dims pairs = {blocks, kBlock, kBlock};
  const Value is_before =
      compare(iota(x.graph(), ElementType::kS32, pairs, 2), Comparison::kLessEqual,
              iota(x.graph(), ElementType::kS32, pairs, 1));
  const Value counts =
      compare(broadcast(ids, pairs, {0, 1}), Comparison::kEqual, broadcast(ids, pairs, {0, 2})) &
      is_before;
  const Value inside =
      dot(convert(counts, ElementType::kF32), x,
          {.contracted_x = {2}, .contracted_y = {1}, .batch_x = {0}, .batch_y = {0}});
  // The sums at the blocks' ends (Hillis and Steele 1986, doi:10.1145/7902.7903).
  Value ends = reshape(slice(inside, 1, kBlock - 1, kBlock), {blocks, width});
  const Value end_ids = reshape(slice(ids, 1, kBlock - 1, kBlock), {blocks});
  for (int64_t by = 1; by < blocks; by *= 2) {
    ends = ends + only_where(are_equal(end_ids, shifted(end_ids, by)), shifted(ends, by));
  }
  const Value goes_on = are_equal(ids, shifted(end_ids, 1));
  return inside + only_where(goes_on, broadcast(shifted(ends, 1), x.shape(), {0, 2}));
}

}  // namespace

// The rows are sorted by their ids, so that rows with one id lie side by side. The last row of each
// id receives the sum.
Value add_rows(Value x, Value ids, int64_t rows) {
  Graph& graph = x.graph();
  const int64_t count = ids.type().elements(), blocks = (count + kBlock - 1) / kBlock,
                filled = blocks * kBlock;
  Dims shape(x.shape().begin() + ids.rank(), x.shape().end());
  shape.insert(shape.begin(), rows);
  if (count == 0) return constant(graph, 0, x.element(), shape);
  const int64_t width = x.type().elements() / count;
  const Value filler =
      constant(graph, static_cast<double>(rows), ElementType::kS32, {filled - count});
  const Value flat_ids = reshape(ids, {count});
  const auto [id, order] =
      sorted(filled == count ? flat_ids : concatenate({flat_ids, filler}, 0), rows);
  const Value ordered = gather_rows(pad(reshape(x, {count, width}), 0, 0, filled - count), order);
  const Value sums =
      running_sums(reshape(ordered, {blocks, kBlock, width}), reshape(id, {blocks, kBlock}));
  const Value next =
      concatenate({slice(id, 0, 1, filled), constant(graph, -1, ElementType::kS32, {1})}, 0);
  const Value nowhere = iota(graph, ElementType::kS32, {filled}, 0) + static_cast<double>(rows + 1);
  const Value target = select(compare(id, Comparison::kNotEqual, next), id, nowhere);
  return reshape(scatter_rows(reshape(sums, {filled, width}), target, rows), shape);
}

}  // namespace berth::stablehlo
