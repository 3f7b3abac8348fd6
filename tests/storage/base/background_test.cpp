#include "storage/base/background.h"

#include <gtest/gtest.h>

#include <latch>
#include <vector>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::ElementsAre;

TEST(Background, RunsItsTasksInOrder) {
  std::vector<int> done;
  Background background;
  for (int i = 0; i < 5; ++i) background.submit([&done, i] { done.push_back(i); });
  background.wait();
  EXPECT_THAT(done, ElementsAre(0, 1, 2, 3, 4));
}

TEST(Background, DoesNotBlockItsUser) {
  std::latch go(1);
  Background background;
  EXPECT_TRUE(background.idle());
  background.submit([&go] { go.wait(); });
  EXPECT_FALSE(background.idle());
  go.count_down();
  background.wait();
  EXPECT_TRUE(background.idle());
}

TEST(Background, EndsAfterAllTasks) {
  std::vector<int> done;
  {
    Background background;
    for (int i = 0; i < 3; ++i) background.submit([&done, i] { done.push_back(i); });
  }
  EXPECT_THAT(done, ElementsAre(0, 1, 2));
}

TEST(Background, ReportsTheFirstFailureOnceAndContinues) {
  std::vector<int> done;
  Background background;
  background.submit([] { throw Error(Code::kNoSpace, "first"); });
  background.submit([] { throw Error(Code::kNotFound, "second"); });
  background.submit([&done] { done.push_back(3); });
  EXPECT_THAT([&] { background.wait(); }, ThrowsCode(Code::kNoSpace, "first"));
  EXPECT_THAT(done, ElementsAre(3));
  EXPECT_NO_THROW(background.wait());
}

TEST(Background, AFailureWithoutAWaitIsDropped) {
  Background background;
  background.submit([] { throw Error(Code::kNoSpace, "nobody asks"); });
}

}  // namespace
}  // namespace berth
