#include "trainer/xla/pjrt/deadline.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace berth {
namespace {

void never() { FAIL() << "the deadline has not passed"; }

TEST(Deadline, WorkRunsOnAnotherThreadAndIsDone) {
  std::thread::id id;
  run_within(
      60, [&] { id = std::this_thread::get_id(); }, never);
  EXPECT_NE(id, std::thread::id());
  EXPECT_NE(id, std::this_thread::get_id());
}

TEST(Deadline, WhatWorkThrowsIsThrown) {
  EXPECT_THROW(run_within(
                   60, [] { throw std::out_of_range("work"); }, never),
               std::out_of_range);
}

TEST(Deadline, LateWorkIsLeftBehind) {
  const auto hang = [] { std::this_thread::sleep_for(std::chrono::hours(1)); };
  const auto late = [] { throw std::length_error("late"); };
  // The exit code stays, and what static objects do when they are destroyed is not done.
  EXPECT_EXIT(
      {
        std::atexit([] { std::_Exit(99); });
        try {
          run_within(0.01, hang, late);
        } catch (const std::length_error&) {
          std::exit(7);
        }
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace berth
