#include "trainer/xla/pjrt/deadline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace berth {
namespace {

const Error kLate(Code::kUsage, "late");

TEST(Deadline, WorkRunsOnAnotherThreadAndReturns) {
  const auto id = run_within<std::thread::id>(
      60, [] { return std::this_thread::get_id(); }, kLate);
  EXPECT_NE(id, std::thread::id());
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(Deadline, WhatWorkThrowsIsThrown) {
  EXPECT_THROW(run_within<int>(
                   60, []() -> int { throw std::out_of_range("work"); }, kLate),
               std::out_of_range);
}

TEST(Deadline, LateWorkIsLeftBehind) {
  const auto hang = [] {
    std::this_thread::sleep_for(std::chrono::hours(1));
    return 1;
  };
  // The exit code stays, and what static objects do when they are destroyed is not done.
  EXPECT_EXIT(
      {
        std::atexit([] { std::_Exit(99); });
        try {
          run_within<int>(0.01, hang, kLate);
        } catch (const Error&) {
          std::exit(7);
        }
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace berth
