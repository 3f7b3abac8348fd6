#include "storage/google/default_credentials.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/google/credentials.h"
#include "tests/support/captured_log.h"
#include "tests/support/fake_accounts.h"
#include "tests/support/fake_http.h"
#include "tests/support/scratch_directory.h"
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

namespace fs = std::filesystem;

Json user(const std::string& name) {
  return {{"type", "authorized_user"},
          {"client_id", name},
          {"client_secret", "s"},
          {"refresh_token", "r"}};
}

class DefaultCredentialsTest : public testing::Test {
 protected:
  std::unique_ptr<Credentials> find() { return default_credentials(options, http); }

  // The body of the first request for a token, or its URL if the body is empty.
  std::string who_asks() {
    find()->headers();
    const std::string body = http.asked().back().body;
    return body.empty() ? http.asked().back().request.url : body;
  }
  void named(const std::string& text) {
    write_text(scratch / "key.json", text);
    fs::permissions(scratch / "key.json", fs::perms::owner_read);
    options.application_credentials = scratch / "key.json";
  }
  void expect_bad(const Json& file, const std::string& says) {
    fs::remove(scratch / "key.json");
    named(to_text(file));
    EXPECT_THAT([&] { find(); }, ThrowsCode(Code::kUsage, scratch / ("key.json: " + says)));
  }

  const CapturedLog log;
  const ScratchDirectory scratch;
  FakeHttp http{[](const AskedRequest&) {
    return HttpAnswer{.status = 200,
                      .headers = {{"Metadata-Flavor", "Google"}},
                      .body = R"({"access_token": "t", "expires_in": 3600})"};
  }};
  CredentialOptions options{.application_credentials = "", .gcloud_directory = scratch / "gcloud"};
};

TEST_F(DefaultCredentialsTest, AreTheNamedFileFirst) {
  fs::create_directory(scratch / "gcloud");
  write_text(scratch / "gcloud/application_default_credentials.json", to_text(user("gcloud")));
  named(to_text(user("named")));
  EXPECT_THAT(who_asks(), testing::HasSubstr("client_id=named"));
}

TEST_F(DefaultCredentialsTest, AreThoseOfGcloudSecond) {
  fs::create_directory(scratch / "gcloud");
  write_text(scratch / "gcloud/application_default_credentials.json", to_text(user("gcloud")));
  EXPECT_THAT(who_asks(), testing::HasSubstr("client_id=gcloud"));
}

TEST_F(DefaultCredentialsTest, AreThoseOfTheMetadataServerLast) {
  EXPECT_EQ(who_asks(),
            "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/"
            "default/token");
}

TEST_F(DefaultCredentialsTest, AskNobodyBeforeTheyAreNeeded) {
  find();
  EXPECT_EQ(http.requests(), 0u);
}

TEST_F(DefaultCredentialsTest, WithoutAnyThrowOneSentence) {
  options.metadata_server = false;
  const std::string sentence =
      "no credentials for Google Cloud: GOOGLE_APPLICATION_CREDENTIALS is not set, " +
      (scratch / "gcloud/application_default_credentials.json") +
      " is absent, and NO_GCE_CHECK forbids the metadata server; set "
      "GOOGLE_APPLICATION_CREDENTIALS to a credential file, run on Google Cloud, or pass "
      "--anonymous for public data";
  EXPECT_THAT([&] { find(); }, ThrowsCode(Code::kNotPermitted, sentence));
}

TEST_F(DefaultCredentialsTest, DoNotIgnoreAnAbsentNamedFile) {
  options.application_credentials = scratch / "absent.json";
  EXPECT_THAT([&] { find(); },
              ThrowsCode(Code::kUsage,
                         "absent.json: the file that GOOGLE_APPLICATION_CREDENTIALS "
                         "names is absent"));
  options.application_credentials = scratch.path();
  EXPECT_THAT([&] { find(); }, ThrowsCode(Code::kUsage, "is a directory"));
}

TEST_F(DefaultCredentialsTest, DoNotIgnoreABadFileOfGcloud) {
  fs::create_directory(scratch / "gcloud");
  write_text(scratch / "gcloud/application_default_credentials.json", "{");
  EXPECT_THAT([&] { find(); },
              ThrowsCode(Code::kUsage, "application_default_credentials.json: is not JSON"));
}

TEST_F(DefaultCredentialsTest, NameTheFieldThatIsBad) {
  expect_bad(Json::array(), "is not a JSON object");
  expect_bad(Json::object(), R"(the field "type" is missing)");
  expect_bad({{"type", "gdch"}}, R"(the field "type" is "gdch", which is not supported)");
  Json file = user("u");
  file.erase("refresh_token");
  expect_bad(file, R"(the field "refresh_token" is missing)");
  file["refresh_token"] = 5;
  expect_bad(file, R"(the field "refresh_token" is not text)");
  file["refresh_token"] = "";
  expect_bad(file, R"(the field "refresh_token" is empty)");
  file["refresh_token"] = "a\r\nb";
  expect_bad(file, R"(the field "refresh_token" holds a control character)");
  file = user("u");
  file["token_uri"] = "http://example.com/token";
  expect_bad(file, "token_uri would send secrets to example.com over plain http");
  file = user("u");
  file["universe_domain"] = "example.com";
  expect_bad(file, R"(the field "universe_domain" is not googleapis.com)");
}

TEST_F(DefaultCredentialsTest, NameTheInnerFieldThatIsBad) {
  const auto workload = [](const Json& source) {
    return Json{{"type", "external_account"},
                {"audience", "a"},
                {"subject_token_type", "t"},
                {"credential_source", source}};
  };
  expect_bad(workload({{"executable", {{"command", "/bin/x"}}}}),
             R"(the field "credential_source.executable" asks for executable-sourced)");
  expect_bad(workload({{"environment_id", "aws1"}}),
             R"(the field "credential_source.environment_id" asks for AWS)");
  expect_bad(workload({{"certificate", Json::object()}}),
             R"(the field "credential_source.certificate" asks for X.509)");
  expect_bad(workload(Json::object()), R"(the field "credential_source.file" or)");
  expect_bad(workload({{"file", "a"}, {"url", "https://b"}}),
             R"(the field "credential_source.file" or)");
  expect_bad(workload({{"file", "a"}, {"format", {{"type", "xml"}}}}),
             R"(the field "credential_source.format.type" is neither)");
  expect_bad(workload({{"url", "http://b.example/"}}), "credential_source.url would send secrets");
  expect_bad(workload({{"url", "https://b"}, {"headers", {{"A", 5}}}}),
             R"(the field "credential_source.headers.A" is not text)");
  Json spoken_for = workload({{"file", "a"}});
  spoken_for["service_account_impersonation_url"] = "https://iam.example/x";
  spoken_for["service_account_impersonation"] = {{"token_lifetime_seconds", 60}};
  expect_bad(spoken_for, R"(the field "service_account_impersonation.token_lifetime_seconds")");
  Json impersonated = {{"type", "impersonated_service_account"},
                       {"service_account_impersonation_url", "https://iam.example/x"},
                       {"source_credentials", {{"type", "impersonated_service_account"}}}};
  expect_bad(impersonated,
             R"(the field "source_credentials.type" is another impersonated account)");
  impersonated["source_credentials"] = user("u");
  impersonated["delegates"] = "a";
  expect_bad(impersonated, R"(the field "delegates" is not a list)");
}

TEST_F(DefaultCredentialsTest, BoundDepthAndSize) {
  named(R"({"type": )" + std::string(100000, '['));
  EXPECT_THAT([&] { find(); }, ThrowsCode(Code::kUsage, "nested too deeply"));
  fs::remove(scratch / "key.json");
  named(std::string((1 << 20) + 1, ' '));
  EXPECT_THAT([&] { find(); }, ThrowsCode(Code::kUsage, "larger than 1.0 MiB"));
  fs::remove(scratch / "key.json");
  named(std::string("{}\0", 3));
  EXPECT_THAT([&] { find(); }, ThrowsCode(Code::kUsage, "is not JSON"));
}

TEST_F(DefaultCredentialsTest, WarnOnceOfAKeyThatOthersMayRead) {
  named(to_text(user("u")));
  find()->headers();
  EXPECT_EQ(log.warnings(), "");
  fs::permissions(scratch / "key.json", fs::perms::group_read, fs::perm_options::add);
  find()->headers();
  EXPECT_EQ(log.warnings(), (scratch / "key.json") +
                                ": others may read these credentials; run: chmod 600 " +
                                (scratch / "key.json") + "\n");
}

class MetadataServerTest : public testing::Test {
 protected:
  std::unique_ptr<TokenSource> server() {
    return metadata_server({.host = "metadata.google.internal",
                            .machine_product_file = scratch / "product_name",
                            .tried_before = "NAMED is not set, FILE is absent",
                            .resolves = [this](const std::string&) { return has_address; }},
                           {.http = http, .now = [this] { return time_s; }, .metadata_host = ""});
  }
  HttpAnswer answer() {
    if (fails) throw Error(Code::kUnavailable, failure, "metadata.google.internal");
    return {.status = status, .headers = headers, .body = body};
  }

  const ScratchDirectory scratch;
  double time_s = 1000;
  bool fails = false, has_address = true;
  std::string failure = "no connection (refused)";
  int status = 200;
  HttpHeaders headers{{"Metadata-Flavor", "Google"}};
  std::string body = R"({"access_token": "t", "expires_in": 3599, "token_type": "Bearer"})";
  FakeHttp http{[this](const AskedRequest&) { return answer(); }};
};

TEST_F(MetadataServerTest, IsConnectedToInAShortTimeAndWithoutAProxy) {
  const AccessToken token = server()->fetch();
  EXPECT_EQ(token.value, "t");
  EXPECT_EQ(token.expires_at_s, 4599);
  const AskedRequest asked = http.asked().at(0);
  EXPECT_EQ(asked.request.method, "GET");
  EXPECT_EQ(asked.header("Metadata-Flavor"), "Google");
  EXPECT_TRUE(asked.request.bypass_proxy);
  EXPECT_FALSE(asked.request.follow_redirects);
  EXPECT_EQ(asked.request.connect_timeout_s, 3);
  EXPECT_EQ(asked.request.timeout_s, 30);
}

TEST_F(MetadataServerTest, HasAMinuteToStart) {
  const auto machine = server();
  fails = true;
  for (; time_s < 1060; time_s += 5) {
    EXPECT_THAT([&] { machine->fetch(); }, ThrowsCode(Code::kUnavailable, "no connection"));
  }
  EXPECT_THAT(
      [&] { machine->fetch(); },
      ThrowsCode(Code::kNotPermitted,
                 "no credentials for Google Cloud: NAMED is not set, FILE is absent, and the "
                 "metadata server metadata.google.internal gave no token in 60 s (metadata server: "
                 "metadata.google.internal: no connection (refused)); set "
                 "GOOGLE_APPLICATION_CREDENTIALS"));
}

TEST_F(MetadataServerTest, StartsWithinTheMinute) {
  const auto machine = server();
  status = 503;
  EXPECT_THAT([&] { machine->fetch(); }, ThrowsCode(Code::kUnavailable, "answered 503"));
  time_s += 59;
  status = 200;
  EXPECT_NO_THROW(machine->fetch());
}

TEST_F(MetadataServerTest, HasMoreThanAMinuteOnceItHasAcceptedAConnection) {
  const auto machine = server();
  fails = true;
  for (; time_s < 1600; time_s += 30) {
    failure = time_s == 1030 ? "no answer (timed out)" : "no connection (refused)";
    EXPECT_THAT([&] { machine->fetch(); }, ThrowsCode(Code::kUnavailable, failure));
  }
}

TEST_F(MetadataServerTest, HasMoreThanAMinuteOnGooglesMachines) {
  write_text(scratch / "product_name", "Google Compute Engine\n");
  const auto machine = server();
  fails = true;
  for (; time_s < 1600; time_s += 30) {
    EXPECT_THAT([&] { machine->fetch(); }, ThrowsCode(Code::kUnavailable));
  }
}

TEST_F(MetadataServerTest, IsUnavailableIfItFailsAfterAnAnswer) {
  const auto machine = server();
  machine->fetch();
  fails = true;
  for (int i = 0; i < 5; ++i, time_s += 100) {
    EXPECT_THAT([&] { machine->fetch(); }, ThrowsCode(Code::kUnavailable));
  }
}

TEST_F(MetadataServerTest, WithoutAnAddressDoesNotExist) {
  fails = true;
  has_address = false;
  EXPECT_THAT([&] { server()->fetch(); },
              ThrowsCode(Code::kNotPermitted,
                         "and the metadata server metadata.google.internal has no address; set"));
}

TEST_F(MetadataServerTest, WithoutAnAddressIsWaitedForOnGooglesMachines) {
  fails = true;
  has_address = false;
  write_text(scratch / "product_name", "Google Compute Engine\n");
  EXPECT_THAT([&] { server()->fetch(); }, ThrowsCode(Code::kUnavailable));
}

TEST_F(MetadataServerTest, OfAnotherCloudIsRefused) {
  headers = {};
  EXPECT_THAT([&] { server()->fetch(); },
              ThrowsCode(Code::kNotPermitted, "answers, but is not Google's"));
  status = 404;
  EXPECT_THAT([&] { server()->fetch(); },
              ThrowsCode(Code::kNotPermitted, "answers, but is not Google's"));
}

TEST_F(MetadataServerTest, WithoutAServiceAccountSaysSo) {
  status = 404;
  EXPECT_THAT([&] { server()->fetch(); },
              ThrowsCode(Code::kNotPermitted, "answered 404; check that a service account"));
}

TEST_F(MetadataServerTest, HasAnAddressWhereItIsOne) {
  EXPECT_TRUE(MetadataServerOptions::has_address("127.0.0.1:80"));
  EXPECT_FALSE(MetadataServerOptions::has_address("no address"));
}

}  // namespace
}  // namespace berth
