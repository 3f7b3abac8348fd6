#include "storage/transfer_meter.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace berth {
namespace {

class TransferMeterTest : public testing::Test {
 protected:
  TransferMeterTest() {
    meter_.emplace(tell_, about_, [this] { return now_s_; });
  }

  void move(double at_s, uint64_t bytes) {
    now_s_ = at_s;
    meter_->add(bytes);
  }

  const TransferProgress about_{.uri = "gs://b/o", .total = 100};
  std::vector<TransferProgress> told_;
  const TellProgress tell_ = [this](const TransferProgress& progress) {
    told_.push_back(progress);
  };
  double now_s_ = 0;
  std::optional<TransferMeter> meter_;
};

TEST_F(TransferMeterTest, AShortTransferIsNotReported) {
  move(1.9, 100);
  meter_->finish();
  EXPECT_TRUE(told_.empty());
}

TEST_F(TransferMeterTest, ALongTransferIsReportedAfterTwoSecondsThenEveryFiveAndAtItsEnd) {
  for (int tenth = 0; tenth <= 100; ++tenth) move(tenth / 10.0, 1);
  ASSERT_EQ(told_.size(), 2u);
  EXPECT_EQ(told_[0].bytes, 21u);
  EXPECT_DOUBLE_EQ(told_[0].seconds, 2);
  EXPECT_EQ(told_[1].bytes, 71u);
  meter_->finish();
  meter_->finish();
  move(20, 1);
  ASSERT_EQ(told_.size(), 3u);
  EXPECT_TRUE(told_[2].finished);
  EXPECT_EQ(told_[2].bytes, 101u);
}

TEST_F(TransferMeterTest, AFailedTransferIsNotReportedAsFinished) {
  move(3, 50);
  meter_.reset();
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_FALSE(told_[0].finished);
}

TEST_F(TransferMeterTest, NobodyNeedsToListen) {
  const TellProgress nobody;
  TransferMeter meter(nobody, about_);
  meter.add(1);
}

}  // namespace
}  // namespace berth
