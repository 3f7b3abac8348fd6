#include <gtest/gtest.h>

#include "entrypoint/report/progress_lines.h"

namespace berth {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

TEST(TransferText, ShowsBytesRateAndTimeLeft) {
  EXPECT_EQ(
      transfer_text(
          {.uri = "gs://b/o", .bytes = 100 * kMebibyte, .total = 300 * kMebibyte, .seconds = 10}),
      "reading gs://b/o: 100.0 MiB of 300.0 MiB, 10.0 MiB/s, 20 s left");
}

TEST(TransferText, ShowsNoTimeLeftWithoutATotal) {
  EXPECT_EQ(
      transfer_text({.uri = "gs://b/o", .is_upload = true, .bytes = 5 * kMebibyte, .seconds = 5}),
      "writing gs://b/o: 5.0 MiB so far, 1.0 MiB/s");
}

TEST(TransferText, ShowsTheEnd) {
  EXPECT_EQ(
      transfer_text({.uri = "gs://b/o", .bytes = 6 * kMebibyte, .seconds = 3, .finished = true}),
      "read gs://b/o: 6.0 MiB in 3 s, 2.0 MiB/s");
}

TEST(TransferText, SurvivesAStandstill) {
  EXPECT_EQ(transfer_text({.uri = "gs://b/o", .total = 10, .seconds = 3}),
            "reading gs://b/o: 0 B of 10 B, 0 B/s");
}

}  // namespace
}  // namespace berth
