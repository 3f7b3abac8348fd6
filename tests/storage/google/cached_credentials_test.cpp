#include "storage/google/cached_credentials.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "storage/base/text.h"
#include "tests/support/captured_log.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// Makes tokens "t1", "t2", ... that live for `life_s`. Throws `fails` if it is set.
class CountingSource final : public TokenSource {
 public:
  CountingSource(std::atomic<int>& fetches, Clock now) : fetches_(fetches), now_(std::move(now)) {}

  AccessToken fetch() override {
    const int fetch = ++fetches_;
    if (during) during();
    if (fails) throw Error(*fails);
    return {.value = always.empty() ? cat("t", fetch) : always, .expires_at_s = now_() + life_s};
  }

  double life_s = 3600;
  std::string always{};
  std::optional<Error> fails{};
  std::function<void()> during{};

 private:
  std::atomic<int>& fetches_;
  const Clock now_;
};

class CachedCredentialsTest : public testing::Test {
 protected:
  std::string token() { return credentials.headers().find("authorization").value_or("none"); }

  std::atomic<double> time_s = 1e9;
  std::atomic<int> fetches = 0;
  const Clock clock = [this] { return time_s.load(); };
  CountingSource* source = nullptr;
  CachedCredentials credentials{make_source(), "payer", clock};

 private:
  std::unique_ptr<TokenSource> make_source() {
    auto made = std::make_unique<CountingSource>(fetches, clock);
    source = made.get();
    return made;
  }
};

TEST_F(CachedCredentialsTest, AskForNothingBeforeTheFirstRequest) { EXPECT_EQ(fetches, 0); }

TEST_F(CachedCredentialsTest, SendTheTokenAndWhoPays) {
  const HttpHeaders headers = credentials.headers();
  EXPECT_EQ(headers.find("Authorization"), "Bearer t1");
  EXPECT_EQ(headers.find("x-goog-user-project"), "payer");
}

TEST_F(CachedCredentialsTest, KeepATokenUntil225SecondsBeforeItsEnd) {
  EXPECT_EQ(token(), "Bearer t1");
  time_s = 1e9 + 3600 - 225.5;
  EXPECT_EQ(token(), "Bearer t1");
  time_s = 1e9 + 3600 - 225;
  EXPECT_EQ(token(), "Bearer t2");
  EXPECT_EQ(fetches, 2);
}

TEST_F(CachedCredentialsTest, DoNotAskAgainAndAgainForAnUnchangedToken) {
  source->life_s = 200;
  source->always = "same";
  for (int i = 0; i < 100; ++i) EXPECT_EQ(token(), "Bearer same");
  EXPECT_EQ(fetches, 1);
  time_s = 1e9 + 100;  // half of the token's remaining life has passed
  for (int i = 0; i < 100; ++i) token();
  EXPECT_EQ(fetches, 2);
}

TEST_F(CachedCredentialsTest, HandOutATokenEvenIfItIsAboutToExpire) {
  source->life_s = 0;
  EXPECT_EQ(token(), "Bearer t1");
  EXPECT_EQ(token(), "Bearer t2");
}

TEST_F(CachedCredentialsTest, KeepAValidTokenIfThereIsNoNewOne) {
  const CapturedLog log;
  token();
  time_s = 1e9 + 3500;
  source->fails = Error(Code::kUnavailable, "no answer", "oauth.example");
  EXPECT_EQ(token(), "Bearer t1");
  EXPECT_THAT(log.warnings(), testing::HasSubstr("oauth.example: no answer"));
  EXPECT_EQ(token(), "Bearer t1");
  EXPECT_EQ(fetches, 2) << "a pause follows a failure";
  time_s = 1e9 + 3530;
  EXPECT_EQ(token(), "Bearer t1");
  EXPECT_EQ(fetches, 3);
  time_s = 1e9 + 3600;
  EXPECT_THAT([&] { token(); }, ThrowsCode(Code::kUnavailable, "no answer"));
  source->fails.reset();
  EXPECT_EQ(token(), "Bearer t5");
}

TEST_F(CachedCredentialsTest, PassOnAFailureUnchanged) {
  source->fails = Error(Code::kUnavailable, "busy").after(9);
  try {
    token();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.pause_s(), 9);
  }
  source->fails = Error(Code::kNotPermitted, "no");
  EXPECT_THAT([&] { token(); }, ThrowsCode(Code::kNotPermitted));
  EXPECT_EQ(fetches, 2) << "nothing is tried twice here";
}

TEST_F(CachedCredentialsTest, DropARefusedToken) {
  const HttpHeaders first = credentials.headers();
  EXPECT_TRUE(credentials.drop(first));
  EXPECT_EQ(token(), "Bearer t2");
  EXPECT_EQ(fetches, 2);
}

TEST_F(CachedCredentialsTest, DropNoOtherTokenThanTheRefusedOne) {
  const HttpHeaders first = credentials.headers();
  credentials.drop(first);
  token();
  EXPECT_TRUE(credentials.drop(first)) << "asking again helps: there is a newer one";
  EXPECT_EQ(token(), "Bearer t2");
}

TEST_F(CachedCredentialsTest, DropTheTokenThoughItsRefreshFails) {
  const HttpHeaders first = credentials.headers();
  time_s = 1e9 + 3500;
  source->fails = Error(Code::kUnavailable, "no answer");
  source->during = [&] { credentials.drop(first); };
  EXPECT_THAT([&] { token(); }, ThrowsCode(Code::kUnavailable));
}

TEST_F(CachedCredentialsTest, WithoutATokenThereIsNothingToDrop) {
  const auto anonymous = anonymous_credentials();
  EXPECT_EQ(anonymous->headers(), HttpHeaders());
  EXPECT_FALSE(anonymous->drop({}));
}

TEST_F(CachedCredentialsTest, AskOnceForEightThreads) {
  source->during = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  std::vector<std::future<std::string>> threads;
  for (int i = 0; i < 8; ++i) {
    threads.push_back(std::async(std::launch::async, [this] { return token(); }));
  }
  for (auto& thread : threads) EXPECT_EQ(thread.get(), "Bearer t1");
  EXPECT_EQ(fetches, 1);
}

TEST_F(CachedCredentialsTest, ShareAFailureAmongThoseWhoWait) {
  std::promise<void> all_wait;
  source->fails = Error(Code::kUnavailable, "no answer");
  source->during = [&] { all_wait.get_future().wait(); };
  std::atomic<int> failures = 0, started = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      ++started;
      try {
        token();
      } catch (const Error&) {
        ++failures;
      }
    });
  }
  while (started < 8 || fetches < 1) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  all_wait.set_value();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 8);
}

TEST_F(CachedCredentialsTest, LetNobodyWaitWhileTheOldTokenIsValid) {
  token();
  time_s = 1e9 + 3500;
  std::promise<void> fetching, go_on;
  source->during = [&] {
    fetching.set_value();
    go_on.get_future().wait();
  };
  std::thread refresher([&] { EXPECT_EQ(token(), "Bearer t2"); });
  fetching.get_future().wait();
  EXPECT_EQ(token(), "Bearer t1");
  go_on.set_value();
  refresher.join();
  EXPECT_EQ(token(), "Bearer t2");
}

TEST_F(CachedCredentialsTest, DropAndRefreshInManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) credentials.drop(credentials.headers());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(fetches, 1600);
  const std::string last = token();
  EXPECT_EQ(last, cat("Bearer t", fetches.load()));
}

}  // namespace
}  // namespace berth
