#include "storage/google/token_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_http.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using testing::HasSubstr;
using testing::Not;

void check(const std::string& url) {
  require_private_url(url, "meta.example:8080", "token_uri", "key.json");
}

TEST(PrivateUrl, IsHttps) {
  EXPECT_NO_THROW(check("https://oauth2.googleapis.com/token"));
  EXPECT_NO_THROW(check("HTTPS://oauth2.googleapis.com:443"));
}

TEST(PrivateUrl, MayBeHttpToThisMachine) {
  EXPECT_NO_THROW(check("http://localhost/token"));
  EXPECT_NO_THROW(check("http://LOCALHOST:80/token"));
  EXPECT_NO_THROW(check("http://127.0.0.1:8080/token"));
  EXPECT_NO_THROW(check("http://127.1.2.3"));
  EXPECT_NO_THROW(check("http://[::1]:8080/token"));
}

TEST(PrivateUrl, MayBeHttpToAMetadataServer) {
  EXPECT_NO_THROW(check("http://metadata.google.internal/x"));
  EXPECT_NO_THROW(check("http://169.254.169.254/metadata/identity/oauth2/token"));
  EXPECT_NO_THROW(check("http://meta.example/x"));
}

TEST(PrivateUrl, IsNoOtherHttp) {
  for (const char* url :
       {"http://oauth2.googleapis.com/token", "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/", "http://127.0.0.evil/", "http://127.1/", "http://[::2]/",
        "http://10.0.0.1/", "http://evil.example/?http://localhost/"}) {
    EXPECT_THAT([&] { check(url); },
                ThrowsCode(Code::kUsage, "key.json: token_uri would send secrets"))
        << url;
  }
}

TEST(PrivateUrl, IsNotAmbiguous) {
  for (const char* url :
       {"", "token", "//host/x", "ftp://localhost/", "file:///etc/passwd", "https:///x", "https://",
        "http://localhost@evil.example/", "http://localhost\\@evil.example/", "https://host name/",
        "https://host\n/", "http://localhost%2e/", "https:/host/"}) {
    EXPECT_THAT([&] { check(url); }, ThrowsCode(Code::kUsage, "token_uri is not an http(s) URL"))
        << url;
  }
}

TEST(PrivateUrl, IsShownAsItsHost) {
  EXPECT_EQ(host_of_url("https://a.b:80/c?d"), "a.b");
  EXPECT_EQ(host_of_url("http://[::1]:80/c"), "[::1]");
  EXPECT_EQ(host_of_url("nonsense"), "");
}

const TokenRequest kRequest = {.url = "https://oauth.example/token?secret=1",
                               .where = "key.json",
                               .hint = "look at the key",
                               .secrets = {"eyJhbGciOiJSUzI1NiJ9"}};

AccessToken parsed(const std::string& body) {
  return parse_token_answer({.status = 200, .body = body}, 1000, kRequest);
}

Error refused(int status, const std::string& body, HttpHeaders headers = {}) {
  return refusal({.status = status, .headers = std::move(headers), .body = body}, kRequest);
}

TEST(TokenAnswer, HoldsATokenAndItsLife) {
  const AccessToken token = parsed(R"({"access_token": "ya29.x", "expires_in": 3599})");
  EXPECT_EQ(token.value, "ya29.x");
  EXPECT_EQ(token.expires_at_s, 4599);
}

TEST(TokenAnswer, MayGiveItsLifeAsText) {
  EXPECT_EQ(parsed(R"({"access_token": "x", "expires_in": "60"})").expires_at_s, 1060);
}

TEST(TokenAnswer, WithoutEitherIsRefused) {
  for (const char* body :
       {"", "token", "[]", "null", "{}", R"({"access_token": "x"})", R"({"expires_in": 60})",
        R"({"access_token": 5, "expires_in": 60})", R"({"access_token": "", "expires_in": 60})",
        R"({"access_token": "x", "expires_in": "soon"})",
        R"({"access_token": "x", "expires_in": -1})",
        R"({"access_token": "x", "expires_in": 1e300})",
        R"({"access_token": "x", "expires_in": "nan"})",
        R"({"access_token": "a\r\nHost: b", "expires_in": 60})",
        R"({"access_token": "x", "expires_in": 60)"}) {
    EXPECT_THAT([&] { parsed(body); },
                ThrowsCode(Code::kNotPermitted, "key.json: oauth.example answered with"))
        << body;
  }
}

TEST(IamAnswer, HoldsATokenAndItsEnd) {
  const AccessToken token = parse_iam_answer(
      {.status = 200, .body = R"({"accessToken": "x", "expireTime": "1970-01-01T00:01:00Z"})"},
      kRequest);
  EXPECT_EQ(token.value, "x");
  EXPECT_EQ(token.expires_at_s, 60);
}

TEST(IamAnswer, WithoutEitherIsRefused) {
  for (const char* body :
       {"{}", R"({"accessToken": "x"})", R"({"accessToken": "x", "expireTime": 5})",
        R"({"accessToken": "x", "expireTime": "tomorrow"})",
        R"({"expireTime": "1970-01-01T00:01:00Z"})"}) {
    EXPECT_THAT([&] { parse_iam_answer({.status = 200, .body = body}, kRequest); },
                ThrowsCode(Code::kNotPermitted))
        << body;
  }
}

TEST(Refusal, IsFinalAndSaysWhy) {
  const Error error =
      refused(400, R"({"error": "invalid_grant", "error_description": "Invalid JWT Signature."})");
  EXPECT_EQ(error.code(), Code::kNotPermitted);
  EXPECT_STREQ(error.what(),
               "key.json: oauth.example answered 400 invalid_grant (Invalid JWT Signature.); look "
               "at the key");
}

TEST(Refusal, UnderstandsGooglesOwnForm) {
  const Error error = refused(
      403, R"({"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "no access"}})");
  EXPECT_EQ(error.problem(), "oauth.example answered 403 PERMISSION_DENIED (no access)");
}

TEST(Refusal, ThatMayPassIsUnavailable) {
  for (const int status : {408, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(refused(status, "").code(), Code::kUnavailable) << status;
  }
  for (const char* name : {"internal_failure", "server_error", "temporarily_unavailable"}) {
    EXPECT_EQ(refused(400, std::string(R"({"error": ")") + name + R"("})").code(),
              Code::kUnavailable)
        << name;
  }
  for (const int status : {301, 302, 400, 401, 403, 404, 501}) {
    EXPECT_EQ(refused(status, "").code(), Code::kNotPermitted) << status;
  }
}

TEST(Refusal, KeepsTheServersWishForAPause) {
  EXPECT_EQ(refused(503, "", {{"retry-after", "7"}}).pause_s(), 7);
  EXPECT_EQ(refused(503, "", {{"Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT"}}).pause_s(), 0);
  EXPECT_EQ(refused(503, "", {{"Retry-After", "-7"}}).pause_s(), 0);
  EXPECT_EQ(refused(503, "").pause_s(), 0);
}

TEST(Refusal, ShowsNoSecretsAndNoPages) {
  const Error echo = refused(400, R"({"error": "eyJhbGciOiJSUzI1NiJ9",
      "error_description": "assertion=eyJhbGciOiJSUzI1NiJ9"})");
  EXPECT_EQ(echo.problem(), "oauth.example answered 400 ... (assertion=...)");
  EXPECT_EQ(refused(400, "<html>eyJhbGciOi</html>").problem(), "oauth.example answered 400");
  const Error page =
      refused(400, R"({"error": "x", "error_description": ")" + std::string(100000, 'y') + R"("})");
  EXPECT_LT(page.problem().size(), 300u);
}

TEST(TokenExchange, EndsAtAMebibyte) {
  FakeHttp http([](const AskedRequest&) {
    return HttpAnswer{.status = 200, .body = std::string((1 << 20) + 1, 'x')};
  });
  EXPECT_THAT([&] { ask_token_server(http, kRequest); },
              ThrowsCode(Code::kNotPermitted, "more than 1.0 MiB"));
}

TEST(TokenExchange, NamesItsCredentials) {
  FakeHttp http([](const AskedRequest&) -> HttpAnswer {
    throw Error(Code::kUnavailable, "no answer", "oauth.example").after(3);
  });
  try {
    ask_token_server(http, kRequest);
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "key.json: oauth.example: no answer");
    EXPECT_EQ(error.pause_s(), 3);
  }
}

TEST(TokenExchange, OverPlainHttpGoesPastTheProxy) {
  FakeHttp http([](const AskedRequest&) { return HttpAnswer{.status = 200}; });
  exchange(http, {.url = "https://oauth.example/token"});
  exchange(http, {.url = "http://127.0.0.1:8080/token"});
  EXPECT_FALSE(http.asked().at(0).request.bypass_proxy);
  EXPECT_TRUE(http.asked().at(1).request.bypass_proxy);
}

TEST(TokenExchange, FollowsNoRedirect) {
  FakeHttp http([](const AskedRequest& asked) {
    EXPECT_FALSE(asked.request.follow_redirects);
    return HttpAnswer{.status = 302, .headers = {{"Location", "http://evil.example/"}}};
  });
  EXPECT_THAT([&] { ask_token_server(http, kRequest); },
              ThrowsCode(Code::kNotPermitted, "answered 302"));
}

std::string refused_with(const std::string& description) {
  const TokenRequest request{.url = "https://sts.example/token",
                             .where = "key.json",
                             .secrets = {"eyJ/subject+token=0123456789/abcdef"}};
  const HttpAnswer answer{.status = 400,
                          .headers = {},
                          .body = R"({"error":"x","error_description":")" + description + "\"}"};
  return refusal(answer, request).problem();
}

TEST(Refusal, TellsTheReasonOfTheServer) {
  EXPECT_THAT(refused_with("no such client"), HasSubstr("(no such client)"));
}

TEST(Refusal, LeavesOutSecretsAsTheyAreAndAsAFormSendsThem) {
  EXPECT_THAT(refused_with("bad eyJ/subject+token=0123456789/abcdef"), HasSubstr("(bad ...)"));
  const std::string text =
      refused_with("bad subject_token=eyJ%2Fsubject%2Btoken%3D0123456789%2Fabcdef&x");
  EXPECT_THAT(text, HasSubstr("(bad subject_token=...&x)"));
  EXPECT_THAT(text, Not(HasSubstr("0123456789")));
}

}  // namespace
}  // namespace berth
