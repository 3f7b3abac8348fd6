#include <gtest/gtest.h>

#include <utility>

#include "trainer/model/config.h"
#include "trainer/model/table_rows.h"

namespace berth {
namespace {

ModelConfig with_buckets(int64_t position_buckets, int64_t max_relative_positions) {
  ModelConfig config;
  config.position_buckets = position_buckets;
  config.max_relative_positions = max_relative_positions;
  return config;
}

// The sums are those of transformers' make_log_bucket_position (4.40) for all distances up to 700.
TEST(RelativeRow, PutsDistancesIntoTransformersBuckets) {
  struct Recorded {
    int64_t buckets, most, sum;
  };
  for (const auto& [buckets, most, sum] : {Recorded{256, 512, 725575}, Recorded{32, 512, 175725},
                                           Recorded{4, 16, 165526}, Recorded{32, 128, 423061}}) {
    const ModelConfig config = with_buckets(buckets, most);
    int64_t rows = 0;
    for (int64_t distance = -700; distance <= 700; ++distance) {
      rows += (distance + 701) * relative_row(config, distance);
    }
    EXPECT_EQ(rows % 1000003, sum) << buckets << " buckets";
  }
  const ModelConfig config = with_buckets(256, 512);
  for (const auto& [distance, row] : {std::pair<int64_t, int32_t>{-511, 1},
                                      {-129, 127},
                                      {-1, 255},
                                      {0, 256},
                                      {128, 384},
                                      {130, 386},
                                      {300, 463},
                                      {512, 511}}) {
    EXPECT_EQ(relative_row(config, distance), row) << distance;
  }
}

// Recorded from transformers' MPNetEncoder.relative_position_bucket (5.24), as above.
TEST(PositionBiasRow, IsTheBucketOfTransformers) {
  int64_t rows = 0;
  for (int64_t distance = -700; distance <= 700; ++distance) {
    rows += (distance + 701) * position_bias_row(distance);
  }
  EXPECT_EQ(rows % 1000003, 218936);
  for (const auto& [distance, row] : {std::pair<int64_t, int32_t>{0, 0},
                                      {7, 7},
                                      {12, 9},
                                      {64, 14},
                                      {91, 15},
                                      {700, 15},
                                      {-1, 17},
                                      {-8, 24},
                                      {-700, 31}}) {
    EXPECT_EQ(position_bias_row(distance), row) << distance;
  }
}

TEST(RelativeRow, DistancesBeyondTheTableShareItsEnds) {
  const ModelConfig config = with_buckets(0, 512);
  EXPECT_EQ(config.relative_span(), 512);
  EXPECT_EQ(relative_row(config, -600), 0);
  EXPECT_EQ(relative_row(config, -512), 0);
  EXPECT_EQ(relative_row(config, 3), 515);
  EXPECT_EQ(relative_row(config, 511), 1023);
  EXPECT_EQ(relative_row(config, 600), 1023);
}

}  // namespace
}  // namespace berth
