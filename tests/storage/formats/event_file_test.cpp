#include "storage/formats/event_file.h"

#include <gtest/gtest.h>

#include "tests/support/scratch_directory.h"

namespace berth {
namespace {

// The bytes of each record of tests/testdata/small.tfevents, which tensorboard's own writer made.
class EventFileTest : public testing::Test {
 protected:
  void expect_next(const std::vector<std::byte>& record) {
    ASSERT_LE(at_ + record.size(), golden_.size());
    EXPECT_EQ(as_text(record), golden_.substr(at_, record.size()));
    at_ += record.size();
  }

  const std::string golden_ = read_text(BERTH_TESTDATA "/small.tfevents");
  size_t at_ = 0;
};

TEST_F(EventFileTest, MatchesTensorboardsWriterByteForByte) {
  expect_next(event_file_header(1700000000.5));
  const Scalar zero[] = {{"loss", 0.0f}};
  expect_next(scalar_event(1700000001.25, 0, zero));
  const Scalar two[] = {{"loss", 0.5f}, {"learning_rate", 5e-5f}};
  expect_next(scalar_event(1700000002.0, 300, two));
  expect_next(text_event(1700000003.0, -1, "settings", "| a | b |\n|---|---|\n| \xC3\xA9 | 2 |"));
  EXPECT_EQ(at_, golden_.size());
}

}  // namespace
}  // namespace berth
