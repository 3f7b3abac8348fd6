#include "storage/retry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tests/support/borrowed_storage.h"
#include "tests/support/objects_in_memory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

class RetryTest : public testing::Test {
 protected:
  RetryTest() {
    options_.now = [this] { return now_s_; };
    options_.sleep = [this](double seconds) {
      now_s_ += seconds;
      slept_s_ += seconds;
    };
    options_.random = [] { return 1.0; };
  }

  // The pause after each of `failures` successive failures.
  std::vector<double> pauses(Retry& retry, int failures, const Error& error) {
    std::vector<double> found;
    for (int i = 0; i < failures; ++i) {
      slept_s_ = 0;
      retry.wait(error);
      found.push_back(slept_s_);
    }
    return found;
  }

  const Error busy_{Code::kUnavailable, "busy", "gs://b/o"};
  RetryOptions options_;
  double now_s_ = 0, slept_s_ = 0;
};

TEST_F(RetryTest, PausesDoubleUpToTheLongest) {
  Retry retry(options_, "read");
  EXPECT_EQ(pauses(retry, 8, busy_), (std::vector<double>{1, 2, 4, 8, 16, 32, 32, 32}));
}

TEST_F(RetryTest, PausesAreDrawnFromZeroUpwards) {
  options_.random = [] { return 0.25; };
  Retry retry(options_, "read");
  EXPECT_EQ(pauses(retry, 3, busy_), (std::vector<double>{0.25, 0.5, 1}));
}

TEST_F(RetryTest, RetryAfterIsALowerBoundOfAtMostAMinute) {
  Retry retry(options_, "read");
  EXPECT_EQ(pauses(retry, 1, busy_.after(10)), (std::vector<double>{10}));
  EXPECT_EQ(pauses(retry, 1, busy_.after(1e9)), (std::vector<double>{60}));
}

TEST_F(RetryTest, TimeInWhichNobodyAskedDoesNotCount) {
  options_.deadline_s = 10;
  Retry retry(options_, "read");
  now_s_ += 60;
  retry.resume();
  EXPECT_EQ(pauses(retry, 3, busy_), (std::vector<double>{1, 2, 4}));
  EXPECT_THAT([&] { retry.wait(busy_); }, ThrowsCode(Code::kUnavailable));
}

// Holds "far away". The first transfer is cut after "far".
class CutOnce final : public BorrowedStorage {
 public:
  using BorrowedStorage::BorrowedStorage;

  std::unique_ptr<ByteSource> open(const Uri&, const ReadOptions& options) override {
    if (options.offset == 0) return std::make_unique<CutSource>();
    return std::make_unique<MemorySource>(as_bytes(kText.substr(options.offset)));
  }

 private:
  static constexpr std::string_view kText = "far away";

  class CutSource final : public ByteSource {
   public:
    size_t read(std::span<std::byte> buffer) override {
      if (is_cut_) throw Error(Code::kUnavailable, "cut");
      is_cut_ = true;
      std::ranges::copy(as_bytes(kText.substr(0, 3)), buffer.begin());
      return 3;
    }

   private:
    bool is_cut_ = false;
  };
};

TEST_F(RetryTest, AReadGoesOnAfterACallerThatComputedForLong) {
  ObjectsInMemory none({});
  const auto storage = make_retrying_storage(std::make_unique<CutOnce>(none), options_);
  const auto source = storage->open(Uri::parse("https://host/a"));
  std::array<std::byte, 16> buffer;
  EXPECT_EQ(source->read(buffer), 3u);
  now_s_ += 2 * options_.deadline_s;
  EXPECT_EQ(source->read(buffer), 5u);
}

TEST_F(RetryTest, PermanentFailuresAreThrownAtOnce) {
  for (const Code code : {Code::kNotFound, Code::kNotPermitted, Code::kInUse, Code::kBadData,
                          Code::kUsage, Code::kCorrupt}) {
    Retry retry(options_, "read");
    EXPECT_THAT([&] { retry.wait(Error(code, "no")); }, ThrowsCode(code));
  }
  EXPECT_EQ(slept_s_, 0);
}

TEST_F(RetryTest, GivesUpAtTheDeadlineAndSaysHowOftenItTried) {
  options_.deadline_s = 10;
  Retry retry(options_, "read");
  pauses(retry, 3, busy_);
  EXPECT_THAT([&] { retry.wait(busy_); }, ThrowsCode(Code::kUnavailable, "4 attempts"));
  EXPECT_LE(now_s_, 10);
}

TEST_F(RetryTest, GivesUpAfterSoManyAttempts) {
  options_.random = [] { return 0.0; };
  options_.max_attempts = 5;
  Retry retry(options_, "read");
  pauses(retry, 4, busy_);
  EXPECT_THAT([&] { retry.wait(busy_); }, ThrowsCode(Code::kUnavailable));
}

TEST_F(RetryTest, ProgressRenewsTheBudget) {
  options_.deadline_s = 10;
  Retry retry(options_, "read");
  for (int i = 0; i < 20; ++i) {
    pauses(retry, 3, busy_);
    retry.progress();
  }
  EXPECT_GT(now_s_, 100);
}

TEST_F(RetryTest, AStopTokenEndsAPause) {
  std::stop_source stop;
  options_.sleep = [&](double seconds) {
    now_s_ += seconds;
    stop.request_stop();
  };
  Retry retry(options_, "read", stop.get_token());
  EXPECT_THAT([&] { retry.wait(busy_.after(60)); }, ThrowsCode(Code::kStopped));
  EXPECT_LT(now_s_, 1);
}

}  // namespace
}  // namespace berth
