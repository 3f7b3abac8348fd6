#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/google/credentials.h"
#include "tests/support/captured_log.h"
#include "tests/support/fake_accounts.h"
#include "tests/support/fake_http.h"
#include "tests/support/rsa_key.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

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

}  // namespace
}  // namespace berth
