#include "storage/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>
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

using Part = std::tuple<int64_t, int64_t, int>;

std::set<Part> parts_of(ThreadPool& pool, int64_t count, int64_t grain) {
  std::mutex mutex;
  std::set<Part> parts;
  pool.parallel_for(count, grain, [&](int64_t begin, int64_t end, int thread) {
    const std::lock_guard lock(mutex);
    parts.insert({begin, end, thread});
  });
  return parts;
}

TEST(ThreadPool, CutsARangeInContiguousPartsOfTheThreads) {
  ThreadPool pool(4);
  EXPECT_EQ(pool.size(), 4);
  EXPECT_EQ(parts_of(pool, 10, 1), (std::set<Part>{{0, 2, 0}, {2, 5, 1}, {5, 7, 2}, {7, 10, 3}}));
}

TEST(ThreadPool, UsesFewerThreadsForFewerIndices) {
  ThreadPool pool(4);
  EXPECT_EQ(parts_of(pool, 3, 1), (std::set<Part>{{0, 1, 0}, {1, 2, 1}, {2, 3, 2}}));
  EXPECT_EQ(parts_of(pool, 10, 5), (std::set<Part>{{0, 5, 0}, {5, 10, 1}}));
  EXPECT_EQ(parts_of(pool, 9, 5), (std::set<Part>{{0, 9, 0}}));
  EXPECT_EQ(parts_of(pool, 1, 0), (std::set<Part>{{0, 1, 0}}));
}

TEST(ThreadPool, DoesNothingForAnEmptyRange) {
  ThreadPool pool(2);
  EXPECT_TRUE(parts_of(pool, 0, 1).empty());
}

TEST(ThreadPool, RunsPartZeroOnTheCallerAndTheOthersAlwaysOnTheSameThread) {
  ThreadPool pool(3);
  std::vector<std::thread::id> first(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread::id> ids(3);
    pool.parallel_for(3, 1, [&](int64_t begin, int64_t, int thread) {
      EXPECT_EQ(begin, thread);
      ids[static_cast<size_t>(thread)] = std::this_thread::get_id();
    });
    if (round == 0) first = ids;
    EXPECT_EQ(ids, first);
  }
  EXPECT_EQ(first[0], std::this_thread::get_id());
}

TEST(ThreadPool, RethrowsTheFirstExceptionByThreadAfterAllPartsEnded) {
  ThreadPool pool(3);
  std::atomic<int> ended = 0;
  try {
    pool.parallel_for(3, 1, [&](int64_t, int64_t, int thread) {
      ++ended;
      if (thread > 0) throw std::runtime_error(std::to_string(thread));
    });
    FAIL() << "did not throw";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "1");
  }
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(parts_of(pool, 3, 1).size(), 3u);  // the pool still works
}

TEST(ThreadPool, RunsANestedCallOnThePartsOwnThread) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum = 0;
  pool.parallel_for(2, 1, [&](int64_t, int64_t, int outer) {
    const auto id = std::this_thread::get_id();
    pool.parallel_for(100, 1, [&](int64_t begin, int64_t end, int inner) {
      EXPECT_EQ(std::this_thread::get_id(), id);
      EXPECT_EQ(inner, outer);
      sum += end - begin;
    });
  });
  EXPECT_EQ(sum, 200);
}

TEST(ThreadPool, OfNoThreadsRunsOnTheCaller) {
  ThreadPool pool(0);
  EXPECT_EQ(parts_of(pool, 5, 1), (std::set<Part>{{0, 5, 0}}));
}

TEST(ThreadPool, SeesTheCallersWritesAndShowsItsOwn) {
  ThreadPool pool(4);
  std::vector<int64_t> x(1000);
  for (int64_t round = 1; round <= 40; ++round) {
    for (int64_t& value : x) value += 1;
    pool.parallel_for(1000, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) x[static_cast<size_t>(i)] *= 2;
    });
  }
  int64_t expected = 0;
  for (int round = 0; round < 40; ++round) expected = (expected + 1) * 2;
  EXPECT_EQ(x, std::vector<int64_t>(1000, expected));
}

TEST(ThreadPool, AvailableThreadsAreAtLeastOneAndAtMostTheMachines) {
  EXPECT_GE(available_threads(), 1);
  EXPECT_LE(available_threads(), static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace berth
