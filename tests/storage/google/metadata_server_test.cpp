#include "storage/google/metadata_server.h"

#include <gtest/gtest.h>

#include "tests/support/fake_http.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

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
    if (fails) throw Error(Code::kUnavailable, "no answer", "metadata.google.internal");
    return {.status = status, .headers = headers, .body = body};
  }

  const ScratchDirectory scratch;
  double time_s = 1000;
  bool fails = false, has_address = true;
  int status = 200;
  HttpHeaders headers{{"Metadata-Flavor", "Google"}};
  std::string body = R"({"access_token": "t", "expires_in": 3599, "token_type": "Bearer"})";
  FakeHttp http{[this](const AskedRequest&) { return answer(); }};
};

TEST_F(MetadataServerTest, IsAskedWithAShortTimeoutAndWithoutAProxy) {
  const AccessToken token = server()->fetch();
  EXPECT_EQ(token.value, "t");
  EXPECT_EQ(token.expires_at_s, 4599);
  const AskedRequest asked = http.asked().at(0);
  EXPECT_EQ(asked.request.method, "GET");
  EXPECT_EQ(asked.header("Metadata-Flavor"), "Google");
  EXPECT_TRUE(asked.request.bypass_proxy);
  EXPECT_FALSE(asked.request.follow_redirects);
  EXPECT_EQ(asked.request.timeout_s, 3);
}

TEST_F(MetadataServerTest, HasAMinuteToStart) {
  const auto machine = server();
  fails = true;
  for (; time_s < 1060; time_s += 5) {
    EXPECT_THAT([&] { machine->fetch(); }, ThrowsCode(Code::kUnavailable, "no answer"));
  }
  EXPECT_THAT(
      [&] { machine->fetch(); },
      ThrowsCode(Code::kNotPermitted,
                 "no credentials for Google Cloud: NAMED is not set, FILE is absent, and the "
                 "metadata server metadata.google.internal gave no token in 60 s (metadata server: "
                 "metadata.google.internal: no answer); set GOOGLE_APPLICATION_CREDENTIALS"));
}

TEST_F(MetadataServerTest, StartsWithinTheMinute) {
  const auto machine = server();
  status = 503;
  EXPECT_THAT([&] { machine->fetch(); }, ThrowsCode(Code::kUnavailable, "answered 503"));
  time_s += 59;
  status = 200;
  EXPECT_NO_THROW(machine->fetch());
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
