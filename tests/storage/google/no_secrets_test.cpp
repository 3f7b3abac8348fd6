#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "storage/base/json.h"
#include "storage/base/text.h"
#include "storage/google/credential_types.h"
#include "storage/google/credentials.h"
#include "tests/support/captured_log.h"
#include "tests/support/drawn_seed.h"
#include "tests/support/every_damage.h"
#include "tests/support/fake_accounts.h"
#include "tests/support/scratch_directory.h"

// No key, token or assertion may appear in a log line or an error, whatever succeeds or fails.
namespace berth {
namespace {

class NoSecretsTest : public testing::Test {
 protected:
  // Asks for headers until a token was dropped once and renewed once. Records the messages of
  // errors.
  void use(const std::string& file) {
    const std::string path = scratch / "key.json";
    write_text(path, file);
    try {
      double time_s = 1.8e9;
      const auto credentials = default_credentials({.application_credentials = path,
                                                    .gcloud_directory = "",
                                                    .metadata_host = accounts.host()},
                                                   *http, [&] { return time_s; });
      credentials->drop(credentials->headers());
      credentials->headers();
      time_s += 3500;
      credentials->headers();
    } catch (const Error& error) {
      said += std::string(error.what()) + "\n" + error.problem() + "\n";
    }
  }

  std::vector<Json> files() {
    write_text(scratch / "subject", FakeAccounts::kSubjectToken);
    const Json from_file = {{"file", scratch / "subject"}};
    const Json from_url = {
        {"url", accounts.url("/subject")},
        {"headers", {{"X-Subject-Key", FakeAccounts::kSubjectHeader}}},
        {"format", {{"type", "json"}, {"subject_token_field_name", "id_token"}}}};
    Json client = accounts.external_account(from_file);
    client["client_id"] = "client";
    client["client_secret"] = FakeAccounts::kClientSecret;
    Json spoken_for = accounts.external_account(from_url);
    spoken_for["service_account_impersonation_url"] = accounts.impersonation_url();
    return {accounts.service_account(),
            accounts.authorized_user(),
            accounts.workforce_user(),
            accounts.external_account(from_url),
            client,
            spoken_for,
            accounts.impersonated_service_account(accounts.service_account())};
  }

  void expect_nothing_secret() {
    const std::string text = said + log.lines();
    for (const std::string& secret : accounts.secrets()) {
      for (size_t begin = 0; begin + 12 <= secret.size(); begin += 12) {
        const std::string piece = secret.substr(begin, 12);
        EXPECT_EQ(text.find(piece), std::string::npos)
            << piece << " in "
            << text.substr(text.find(piece) < 200 ? 0 : text.find(piece) - 200, 400);
      }
    }
  }

  const CapturedLog log;
  const ScratchDirectory scratch;
  FakeAccounts accounts;
  const std::unique_ptr<HttpClient> http = make_http_client({});
  std::string said;
};

TEST_F(NoSecretsTest, IfAllSucceeds) {
  for (const Json& file : files()) use(to_text(file));
  EXPECT_EQ(said, "");
  EXPECT_THAT(log.lines(), testing::HasSubstr("got an access token"));
  expect_nothing_secret();
}

TEST_F(NoSecretsTest, IfServersEchoTheRequest) {
  const auto echo = [](int status) {
    return [status](const ServedRequest& request) {
      std::string all = percent_decoded(request.body.view());
      for (const auto& [name, value] : request.headers) all += " " + name + ": " + value;
      const Json body = {{"error", all}, {"error_description", all}};
      return ServedAnswer{.status = status, .body = to_text(body)};
    };
  };
  const auto google_echo = [](const ServedRequest& request) {
    const std::string bearer = request.header("Authorization").value_or("");
    const Json body = {
        {"error", {{"status", bearer}, {"message", cat(bearer, request.body.view())}}}};
    return ServedAnswer{.status = 403, .body = to_text(body)};
  };
  for (const int status : {200, 400, 401, 503}) {
    for (const char* path : {"/token", "/sts", "/subject"}) {
      accounts.answer(path, echo(status));
      for (const Json& file : files()) use(to_text(file));
      accounts.answer(path, {});
    }
  }
  accounts.answer("/iam/robot@p:generateAccessToken", google_echo);
  for (const Json& file : files()) use(to_text(file));
  EXPECT_THAT(said, testing::HasSubstr("answered 400"));
  EXPECT_THAT(said, testing::HasSubstr("answered 403 Bearer ..."));
  expect_nothing_secret();
}

TEST_F(NoSecretsTest, IfTheAnswerHasNoToken) {
  for (const char* path : {"/token", "/sts", "/iam/robot@p:generateAccessToken", "/subject"}) {
    accounts.answer(path, [](const ServedRequest& request) {
      return ServedAnswer{.body = cat("access_token=", request.body.view())};
    });
    for (const Json& file : files()) use(to_text(file));
    accounts.answer(path, {});
  }
  expect_nothing_secret();
}

TEST_F(NoSecretsTest, IfTheConnectionBreaks) {
  for (const char* path : {"/token", "/sts", "/iam/robot@p:generateAccessToken", "/subject"}) {
    accounts.answer(path,
                    [](const ServedRequest&) { return ServedAnswer{.fault = {.reset = true}}; });
    for (const Json& file : files()) use(to_text(file));
    accounts.answer(path, {});
  }
  EXPECT_THAT(said, testing::HasSubstr("no answer"));
  expect_nothing_secret();
}

TEST_F(NoSecretsTest, IfAFieldHasAnotherType) {
  for (const Json& file : files()) {
    for (const auto& [name, value] : file.items()) {
      Json other = file;
      other.erase(name);
      use(to_text(other));
      for (const Json& damage : {Json(5), Json(nullptr), Json::array({value}), Json{{"x", value}},
                                 Json("a\n" + std::string(FakeAccounts::kClientSecret))}) {
        other[name] = damage;
        use(to_text(other));
      }
    }
  }
  expect_nothing_secret();
}

// This case only reads the files, because a request for every byte would take minutes.
TEST_F(NoSecretsTest, IfAByteOfAFileIsWrongOrItsEndIsMissing) {
  const TokenContext context{*http, wall_clock_s, ""};
  const auto read = [&](Bytes bytes) {
    try {
      make_token_source(CredentialFields(as_text(bytes), "key.json"), context, kStorageScope);
    } catch (const Error& error) {
      said += std::string(error.what()) + "\n";
      throw;
    }
  };
  for (const Json& file : files()) {
    const std::string text = to_text(file);
    EXPECT_EQ(accepted_prefixes(as_bytes(text), read), std::vector<size_t>());
    for (size_t i = first_drawn(); i < text.size(); i += kDrawnStride) {
      std::string wrong = text;
      wrong[i] = static_cast<char>(wrong[i] ^ 1 << i % 8);
      accepts(read, as_bytes(wrong));
    }
  }
  EXPECT_THAT(said, testing::HasSubstr("is not JSON"));
  expect_nothing_secret();
}

}  // namespace
}  // namespace berth
