#include "trainer/xla/layout/row_packing.h"

#include <gmock/gmock.h>

#include <random>

#include "storage/base/error.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

std::vector<int32_t> ends_of(const std::vector<int32_t>& lengths) {
  std::vector<int32_t> ends = {0};
  for (const int32_t length : lengths) ends.push_back(ends.back() + length);
  return ends;
}

TEST(RowPacking, ShortSequencesFillTheRowsOfLongOnes) {
  const RowPacking packing = pack_rows(ends_of({3, 24, 16, 8}), 24);
  EXPECT_EQ(packing.rows, 3);
  EXPECT_EQ(packing.row, (std::vector<int32_t>{2, 0, 1, 1}));
  EXPECT_EQ(packing.column, (std::vector<int32_t>{0, 0, 0, 16}));
}

TEST(RowPacking, ARowOfEqualSequencesIsFull) {
  const RowPacking packing = pack_rows(ends_of({13, 13, 13, 13}), 32);
  EXPECT_EQ(packing.rows, 2);
  EXPECT_EQ(packing.column, (std::vector<int32_t>{0, 16, 0, 16}));
}

TEST(RowPacking, NoSequencesTakeNoRow) { EXPECT_EQ(pack_rows(ends_of({}), 8).rows, 0); }

TEST(RowPacking, ASequenceLongerThanARowIsABug) {
  EXPECT_THAT([] { pack_rows(ends_of({9}), 8); }, ThrowsCode(Code::kInternal));
}

TEST(RowPacking, SequencesDoNotOverlap) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<int32_t> lengths(1 + random() % 60);
    for (int32_t& length : lengths) length = 1 + static_cast<int32_t>(random() % 40);
    const RowPacking packing = pack_rows(ends_of(lengths), 40);
    std::vector<int> taken(static_cast<size_t>(packing.rows) * 40);
    for (size_t b = 0; b < lengths.size(); ++b) {
      ASSERT_EQ(packing.column[b] % 8, 0);
      ASSERT_LE(packing.column[b] + lengths[b], 40);
      for (int32_t i = 0; i < lengths[b]; ++i) {
        ASSERT_EQ(taken[static_cast<size_t>(packing.row[b] * 40 + packing.column[b] + i)]++, 0);
      }
    }
  }
}

}  // namespace
}  // namespace berth
