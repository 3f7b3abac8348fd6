#include "entrypoint/report/watchdog.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "entrypoint/platform/thread_stacks.h"

namespace berth {
namespace {

void sleep(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

struct CountingObserver : Observer {
  void on_step(const StepReport&) override { ++steps; }
  int steps = 0;
};

TEST(Watchdog, CallsWhereNoSignComes) {
  CountingObserver inner;
  std::atomic<int> calls = 0;
  std::atomic<double> silent_s = 0;
  Watchdog watchdog(inner, 0.1, [&](double seconds) {
    silent_s = seconds;
    ++calls;
  });
  for (int i = 0; i < 500 && calls == 0; ++i) sleep(0.02);
  EXPECT_EQ(calls, 1);
  EXPECT_GE(silent_s, 0.1);
}

TEST(Watchdog, IsQuietWhileSignsCome) {
  CountingObserver inner;
  std::atomic<int> calls = 0;
  Watchdog watchdog(inner, 60, [&](double) { ++calls; });
  watchdog.on_step({});
  watchdog.on_evaluating(1, 2);
  EXPECT_EQ(inner.steps, 1);
  EXPECT_EQ(calls, 0);
}

TEST(Watchdog, DoesNotCountProbes) {
  CountingObserver inner;
  std::atomic<int> calls = 0;
  Watchdog watchdog(inner, 1, [&](double) { ++calls; });
  watchdog.on_probing("a");
  sleep(2);
  EXPECT_EQ(calls, 0);
  watchdog.on_probes({});
  for (int i = 0; i < 500 && calls == 0; ++i) sleep(0.02);
  EXPECT_EQ(calls, 1);
}

TEST(ThreadStacks, NameEveryThread) {
  std::atomic<bool> is_named = false, ends = false;
  std::jthread other([&] {
    ::pthread_setname_np(::pthread_self(), "sleeper");
    is_named = true;
    while (!ends) sleep(0.01);
  });
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  while (!is_named) sleep(0.001);
  write_thread_stacks(pipe_ends[1]);
  ends = true;
  ::close(pipe_ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t size; (size = ::read(pipe_ends[0], part, sizeof part)) > 0;) {
    text.append(part, static_cast<size_t>(size));
  }
  ::close(pipe_ends[0]);
  const size_t at = text.find("(sleeper):\n");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_NE(text.find("0x", at), std::string::npos) << text;
}

}  // namespace
}  // namespace berth
