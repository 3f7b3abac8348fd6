#include "entrypoint/modes/spilled_lines.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

std::string line(int64_t number) {
  return std::to_string(number) + std::string(static_cast<size_t>(number * 7919 % 1500), 'x');
}

class Spilled : public testing::Test {
 protected:
  void append(int64_t count) {
    for (int64_t i = 0; i < count; ++i) lines_.append(line(i));
  }
  std::string read(int64_t number) {
    std::vector<std::byte> bytes;
    lines_.read(number, bytes);
    return std::string(as_text(bytes));
  }

  SpilledLines lines_;
};

TEST_F(Spilled, LinesAreReadInOrder) {
  append(5000);
  EXPECT_EQ(lines_.size(), 5000);
  for (int64_t i = 0; i < 5000; ++i) ASSERT_EQ(read(i), line(i) + "\n");
}

TEST_F(Spilled, LinesAreReadAgainFromAnyPlace) {
  append(5000);
  for (const int64_t first : {0, 4999, 1023, 1024, 1025, 0, 0, 2500}) {
    for (int64_t i = first; i < std::min<int64_t>(first + 20, 5000); ++i) {
      ASSERT_EQ(read(i), line(i) + "\n");
    }
  }
}

TEST_F(Spilled, ALineMayBeLongOrEmpty) {
  lines_.append("");
  lines_.append(std::string(5'000'000, 'y'));
  lines_.append("");
  EXPECT_EQ(read(0), "\n");
  EXPECT_EQ(read(1), std::string(5'000'000, 'y') + "\n");
  EXPECT_EQ(read(2), "\n");
}

}  // namespace
}  // namespace berth
