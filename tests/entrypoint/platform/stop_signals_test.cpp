#include "entrypoint/platform/stop_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "storage/base/clock.h"

namespace berth {
namespace {

constexpr double kLong_s = 1000;

[[noreturn]] void block_forever() {
  int ends[2];
  char byte;
  if (::pipe(ends) != 0 || ::read(ends[0], &byte, 1) != 0) ::_exit(1);
  ::_exit(2);
}

void wait_for(const std::atomic<bool>& flag) {
  while (!flag) sleep_s(0.001);
}

TEST(StopSignalsDeathTest, EndAProcessThatIsBlocked) {
  for (const int signal_number : {SIGTERM, SIGINT}) {
    EXPECT_EXIT(
        {
          StopSignals signals(0.01, [] { std::fputs("last words\n", stderr); });
          ::kill(::getpid(), signal_number);
          block_forever();
        },
        testing::ExitedWithCode(143), "last words");
  }
}

TEST(StopSignalsDeathTest, ActBeforeTheyEndAProcess) {
  EXPECT_EXIT(
      {
        StopSignals signals(0.01, [] { std::fputs("last words\n", stderr); });
        signals.set_act_before_end([] { std::fputs("gives back\n", stderr); });
        ::kill(::getpid(), SIGTERM);
        block_forever();
      },
      testing::ExitedWithCode(143), "gives back\nlast words");
}

TEST(StopSignalsDeathTest, LeaveTimeForAnOrderlyEnd) {
  EXPECT_EXIT(
      {
        StopSignals signals(kLong_s, [] { std::fputs("last words\n", stderr); });
        ::kill(::getpid(), SIGTERM);
        wait_for(signals.stop());
        signals.claim_end();
        std::fputs("orderly\n", stderr);
        ::_exit(7);
      },
      testing::ExitedWithCode(7), "^orderly");
}

TEST(StopSignalsDeathTest, LeaveAJobThatSaves) {
  EXPECT_EXIT(
      {
        StopSignals signals(0, [] { std::fputs("last words\n", stderr); });
        signals.saves_on_stop() = true;
        ::kill(::getpid(), SIGTERM);
        wait_for(signals.stop());
        sleep_s(0.2);
        std::fputs("saved\n", stderr);
        signals.saves_on_stop() = false;
        block_forever();
      },
      testing::ExitedWithCode(143), "^saved\nlast words");
}

TEST(StopSignalsDeathTest, EndASaveThatTakesTooLong) {
  EXPECT_EXIT(
      {
        StopSignals signals(0, [] { std::fputs("last words\n", stderr); });
        signals.saves_on_stop() = true;
        signals.limit_saving(0.3);
        ::kill(::getpid(), SIGTERM);
        block_forever();
      },
      testing::ExitedWithCode(143), "^last words");
}

TEST(StopSignalsDeathTest, SayNothingMoreOnceTheEndIsClaimed) {
  EXPECT_EXIT(
      {
        StopSignals signals(0, [] { std::fputs("last words\n", stderr); });
        signals.claim_end();
        ::kill(::getpid(), SIGTERM);
        wait_for(signals.stop());
        sleep_s(0.2);
        std::fputs("done\n", stderr);
        ::_exit(0);
      },
      testing::ExitedWithCode(0), "^done");
}

TEST(StopSignalsDeathTest, EndAtOnceOnASecondSignal) {
  EXPECT_EXIT(
      {
        StopSignals signals(kLong_s, [] {});
        ::kill(::getpid(), SIGTERM);
        wait_for(signals.stop());
        sleep_s(0.5);
        ::kill(::getpid(), SIGTERM);
        block_forever();
      },
      testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalsDeathTest, TakeASignalThatComesTwiceAsOne) {
  EXPECT_EXIT(
      {
        StopSignals signals(0.2, [] { std::fputs("last words\n", stderr); });
        signals.saves_on_stop() = true;
        for (int i = 0; i < 5; ++i) {
          ::kill(::getpid(), SIGTERM);
          wait_for(signals.stop());
        }
        std::fputs("saved\n", stderr);
        signals.saves_on_stop() = false;
        block_forever();
      },
      testing::ExitedWithCode(143), "^saved\nlast words");
}

TEST(StopSignals, ReceiveASignalThatCameBefore) {
  block_stop_signals();
  ::kill(::getpid(), SIGTERM);
  StopSignals signals(kLong_s, [] {});
  wait_for(signals.stop());
}

TEST(StopSignals, EndWithoutASignal) {
  StopSignals signals(kLong_s, [] {});
}

}  // namespace
}  // namespace berth
