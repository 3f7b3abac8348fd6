#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/google/credentials.h"
#include "tests/support/captured_log.h"
#include "tests/support/fake_accounts.h"
#include "tests/support/rsa_key.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/throws_code.h"

// Uses each type of credential file over HTTP with servers on loopback.
namespace berth {
namespace {

class CredentialTypesTest : public testing::Test {
 protected:
  std::unique_ptr<Credentials> credentials(const Json& file) {
    write_text(scratch / "key.json", to_text(file));
    return default_credentials({.application_credentials = scratch / "key.json",
                                .gcloud_directory = "",
                                .metadata_host = accounts.host()},
                               *http, [this] { return time_s; });
  }
  std::string authorization(const Json& file) {
    return credentials(file)->headers().find("Authorization").value_or("");
  }
  Json subject_file(const std::string& text) {
    write_text(scratch / "subject", text);
    return {{"file", scratch / "subject"}};
  }

  const CapturedLog log;
  const ScratchDirectory scratch;
  FakeAccounts accounts;
  const std::unique_ptr<HttpClient> http = make_http_client({});
  double time_s = 1.8e9;
};

TEST_F(CredentialTypesTest, AServiceAccountSignsAnAssertion) {
  EXPECT_EQ(authorization(accounts.service_account()), "Bearer token-of-oauth-1");
  const DecodedJwt jwt = decode_jwt(accounts.last_form("/token").at("assertion"));
  EXPECT_TRUE(test_key_signed(jwt.signed_part, jwt.signature));
  EXPECT_EQ(parse_json(jwt.header), (Json{{"alg", "RS256"}, {"typ", "JWT"}, {"kid", "key-id-1"}}));
  EXPECT_EQ(parse_json(jwt.claims),
            (Json{{"iss", "robot@p.iam.gserviceaccount.com"},
                  {"aud", accounts.url("/token")},
                  {"scope", "https://www.googleapis.com/auth/devstorage.read_write"},
                  {"iat", 1800000000},
                  {"exp", 1800003600}}));
}

TEST_F(CredentialTypesTest, AServiceAccountWithoutAKeyIdLeavesItOut) {
  Json file = accounts.service_account();
  file.erase("private_key_id");
  authorization(file);
  const DecodedJwt jwt = decode_jwt(accounts.last_form("/token").at("assertion"));
  EXPECT_EQ(jwt.header.find("kid"), std::string::npos);
}

TEST_F(CredentialTypesTest, ARefusedAssertionHintsAtTheClock) {
  accounts.answer("/token", [](const ServedRequest&) {
    return ServedAnswer{.status = 400, .body = R"({"error": "invalid_grant"})"};
  });
  EXPECT_THAT([&] { authorization(accounts.service_account()); },
              ThrowsCode(Code::kNotPermitted, "clock, which says 2027-01-15T08:00:00"));
  EXPECT_EQ(accounts.requests("/token"), 1u);
}

TEST_F(CredentialTypesTest, AUserSendsTheRefreshToken) {
  Json file = accounts.authorized_user();
  file["quota_project_id"] = "payer";
  const HttpHeaders headers = credentials(file)->headers();
  EXPECT_EQ(headers.find("Authorization"), "Bearer token-of-oauth-1");
  EXPECT_EQ(headers.find("x-goog-user-project"), "payer");
  EXPECT_EQ(accounts.last_form("/token"), (std::map<std::string, std::string>{
                                              {"grant_type", "refresh_token"},
                                              {"client_id", "client-1.apps.googleusercontent.com"},
                                              {"client_secret", FakeAccounts::kClientSecret},
                                              {"refresh_token", FakeAccounts::kRefreshToken}}));
}

TEST_F(CredentialTypesTest, AUserWhoseTokenWasRevokedIsToldWhatToRun) {
  Json file = accounts.authorized_user();
  file["refresh_token"] = "another";
  EXPECT_THAT([&] { authorization(file); },
              ThrowsCode(Code::kNotPermitted, "invalid_grant (Bad Request); run: gcloud auth"));
}

TEST_F(CredentialTypesTest, AWorkforceUserSendsTheNewestRefreshToken) {
  Json file = accounts.workforce_user();
  file["quota_project_id"] = "payer";
  const auto user = credentials(file);
  EXPECT_EQ(user->headers().find("Authorization"), "Bearer token-of-sts-1");
  EXPECT_EQ(user->headers().find("x-goog-user-project"), "payer");
  EXPECT_EQ(accounts.last_form("/oauthtoken"),
            (std::map<std::string, std::string>{{"grant_type", "refresh_token"},
                                                {"refresh_token", FakeAccounts::kRefreshToken}}));
  user->drop(user->headers());
  EXPECT_EQ(user->headers().find("Authorization"), "Bearer token-of-sts-2");
  EXPECT_THAT([&] { authorization(file); },
              ThrowsCode(Code::kNotPermitted, "invalid_grant (Bad Request); run: gcloud auth"));
}

TEST_F(CredentialTypesTest, AWorkforceUserKeepsARefreshTokenThatIsNotReplaced) {
  accounts.answer("/oauthtoken", [](const ServedRequest&) {
    return ServedAnswer{.body = R"({"access_token": "t", "expires_in": 60})"};
  });
  const auto user = credentials(accounts.workforce_user());
  user->drop(user->headers());
  EXPECT_EQ(user->headers().find("Authorization"), "Bearer t");
  EXPECT_EQ(accounts.last_form("/oauthtoken").at("refresh_token"), FakeAccounts::kRefreshToken);
}

TEST_F(CredentialTypesTest, AWorkloadExchangesAFilesToken) {
  const Json source = subject_file(std::string(FakeAccounts::kSubjectToken) + "\n");
  EXPECT_EQ(authorization(accounts.external_account(source)), "Bearer token-of-sts-1");
  auto form = accounts.last_form("/sts");
  EXPECT_EQ(form["requested_token_type"], "urn:ietf:params:oauth:token-type:access_token");
  EXPECT_EQ(form["subject_token_type"], "urn:ietf:params:oauth:token-type:jwt");
  EXPECT_TRUE(form["audience"].ends_with("/providers/k"));
  EXPECT_EQ(form["scope"], "https://www.googleapis.com/auth/devstorage.read_write");
  EXPECT_FALSE(form.contains("options"));
  EXPECT_EQ(accounts.last("/sts").header("Authorization"), std::nullopt);
}

TEST_F(CredentialTypesTest, AWorkloadsFileIsReadAnewAtEachRefresh) {
  const auto workload = credentials(accounts.external_account(subject_file("stale")));
  EXPECT_THAT([&] { workload->headers(); }, ThrowsCode(Code::kNotPermitted, "invalid_grant"));
  subject_file(FakeAccounts::kSubjectToken);
  EXPECT_NO_THROW(workload->headers());
}

TEST_F(CredentialTypesTest, AWorkloadsFileMayBeJson) {
  Json source = subject_file(to_text(Json{{"token", FakeAccounts::kSubjectToken}}));
  source["format"] = {{"type", "json"}, {"subject_token_field_name", "token"}};
  EXPECT_EQ(authorization(accounts.external_account(source)), "Bearer token-of-sts-1");
  source["format"]["subject_token_field_name"] = "other";
  EXPECT_THAT([&] { authorization(accounts.external_account(source)); },
              ThrowsCode(Code::kNotPermitted, "has no text \"other\""));
}

TEST_F(CredentialTypesTest, AWorkloadsFileThatIsAbsentOrEmptyIsNamed) {
  const Json absent = {{"file", scratch / "nothing"}};
  EXPECT_THAT([&] { authorization(accounts.external_account(absent)); },
              ThrowsCode(Code::kNotPermitted, "nothing\" is absent"));
  EXPECT_THAT([&] { authorization(accounts.external_account(subject_file(" \n"))); },
              ThrowsCode(Code::kNotPermitted, "subject\" is empty"));
  EXPECT_EQ(accounts.requests("/sts"), 0u);
}

TEST_F(CredentialTypesTest, AWorkloadExchangesAnUrlsToken) {
  const Json source = {{"url", accounts.url("/subject")},
                       {"headers", {{"X-Subject-Key", FakeAccounts::kSubjectHeader}}},
                       {"format", {{"type", "json"}, {"subject_token_field_name", "id_token"}}}};
  EXPECT_EQ(authorization(accounts.external_account(source)), "Bearer token-of-sts-1");
  accounts.answer("/subject", [](const ServedRequest&) { return ServedAnswer{.status = 204}; });
  EXPECT_THAT([&] { authorization(accounts.external_account(source)); },
              ThrowsCode(Code::kNotPermitted, "answered 204"));
}

TEST_F(CredentialTypesTest, AWorkloadMayBeAnOauthClient) {
  Json file = accounts.external_account(subject_file(FakeAccounts::kSubjectToken));
  file["client_id"] = "client";
  file["client_secret"] = "secret";
  authorization(file);
  EXPECT_EQ(accounts.last("/sts").header("Authorization"), "Basic Y2xpZW50OnNlY3JldA==");
}

TEST_F(CredentialTypesTest, AWorkforceNamesTheProjectThatPays) {
  Json file = accounts.external_account(subject_file(FakeAccounts::kSubjectToken));
  file["workforce_pool_user_project"] = "payer";
  EXPECT_THAT([&] { authorization(file); }, ThrowsCode(Code::kUsage, "workforce pool"));
  file["audience"] = "//iam.googleapis.com/locations/global/workforcePools/p/providers/k";
  authorization(file);
  EXPECT_EQ(percent_decoded(accounts.last_form("/sts").at("options")),
            R"({"userProject":"payer"})");
  file["client_id"] = "client";
  authorization(file);
  EXPECT_FALSE(accounts.last_form("/sts").contains("options"));
}

TEST_F(CredentialTypesTest, AWorkloadMaySpeakForAServiceAccount) {
  Json file = accounts.external_account(subject_file(FakeAccounts::kSubjectToken));
  file["service_account_impersonation_url"] = accounts.impersonation_url();
  file["service_account_impersonation"] = {{"token_lifetime_seconds", 1200}};
  EXPECT_EQ(authorization(file), "Bearer token-of-iam-2");
  EXPECT_EQ(accounts.last_form("/sts").at("scope"),
            "https://www.googleapis.com/auth/cloud-platform");
  const ServedRequest asked = accounts.last("/iam/robot@p:generateAccessToken");
  EXPECT_EQ(asked.header("Authorization"), "Bearer token-of-sts-1");
  EXPECT_EQ(parse_json(asked.body.view()),
            (Json{{"scope", {"https://www.googleapis.com/auth/devstorage.read_write"}},
                  {"lifetime", "1200s"}}));
}

TEST_F(CredentialTypesTest, AnImpersonatedAccountHasASourceOfAnyType) {
  const Json workload = accounts.external_account(subject_file(FakeAccounts::kSubjectToken));
  for (const Json& source : {accounts.service_account(), accounts.authorized_user(),
                             accounts.workforce_user(), workload}) {
    EXPECT_TRUE(authorization(accounts.impersonated_service_account(source))
                    .starts_with("Bearer token-of-iam-"))
        << source["type"];
    const Json asked = parse_json(accounts.last("/iam/robot@p:generateAccessToken").body.view());
    EXPECT_EQ(asked["delegates"], Json{"middle@p.iam.gserviceaccount.com"});
    EXPECT_EQ(asked["lifetime"], "3600s");
  }
}

TEST_F(CredentialTypesTest, AnImpersonatedAccountThatGrantsNothingSaysWhichRoleIsMissing) {
  accounts.answer("/iam/robot@p:generateAccessToken", [](const ServedRequest&) {
    return ServedAnswer{
        .status = 403,
        .body = R"({"error": {"status": "PERMISSION_DENIED", "message": "not granted"}})"};
  });
  EXPECT_THAT(
      [&] { authorization(accounts.impersonated_service_account(accounts.authorized_user())); },
      ThrowsCode(Code::kNotPermitted,
                 "PERMISSION_DENIED (not granted); its source needs "
                 "roles/iam.serviceAccountTokenCreator"));
}

TEST_F(CredentialTypesTest, TheMetadataServerGivesTheMachinesToken) {
  const auto machine =
      default_credentials({.metadata_host = accounts.host()}, *http, [this] { return time_s; });
  EXPECT_EQ(machine->headers().find("Authorization"), "Bearer token-of-metadata-1");
}

TEST_F(CredentialTypesTest, ATokenThatExpiresInMidJobIsReplaced) {
  accounts.life_s = 300;
  const Json workload = accounts.external_account(subject_file(FakeAccounts::kSubjectToken));
  for (const Json& file :
       {accounts.service_account(), accounts.authorized_user(), accounts.workforce_user(), workload,
        accounts.impersonated_service_account(accounts.service_account())}) {
    const auto job = credentials(file);
    accounts.clock_s = time_s;
    const HttpHeaders before = job->headers();
    EXPECT_EQ(job->headers(), before);
    accounts.clock_s = time_s += 3500;
    EXPECT_NE(job->headers(), before) << file["type"];
  }
}

TEST_F(CredentialTypesTest, ABusyServerIsLeftToTheRetriesAbove) {
  accounts.answer("/token", [](const ServedRequest&) {
    return ServedAnswer{.status = 503, .headers = {{"Retry-After", "11"}}};
  });
  const auto busy = credentials(accounts.service_account());
  try {
    busy->headers();
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUnavailable);
    EXPECT_EQ(error.pause_s(), 11);
  }
  EXPECT_EQ(accounts.requests("/token"), 1u);
  accounts.answer("/token", {});
  EXPECT_NO_THROW(busy->headers());
}

TEST_F(CredentialTypesTest, ABrokenConnectionIsLeftToTheRetriesAbove) {
  for (const WireFault& fault :
       {WireFault{.reset = true}, WireFault{.cut_header = true}, WireFault{.cut_after = 10}}) {
    accounts.answer("/token", [&](const ServedRequest&) {
      return ServedAnswer{.body = R"({"access_token": "x", "expires_in": 9})", .fault = fault};
    });
    EXPECT_THAT([&] { authorization(accounts.authorized_user()); },
                ThrowsCode(Code::kUnavailable, "key.json: 127.0.0.1"));
  }
}

}  // namespace
}  // namespace berth
