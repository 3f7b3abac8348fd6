#include "storage/google/gcs_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_gcs.h"
#include "tests/support/fake_http.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

// Credentials with one fresh token after each drop.
class NumberedTokens final : public Credentials {
 public:
  HttpHeaders headers() override {
    return {{"Authorization", "Bearer token-" + std::to_string(number_)}};
  }
  bool drop(const HttpHeaders&) override {
    ++number_;
    return can_refresh;
  }

  bool can_refresh = true;

 private:
  int number_ = 1;
};

class GcsRequestsTest : public testing::Test {
 protected:
  int status_of(const std::string& name) {
    return requests_.send({.url = requests_.object(Uri::parse("gs://bucket/" + name))}).status;
  }

  FakeGcs gcs_;
  NumberedTokens tokens_;
  std::unique_ptr<HttpClient> http_ = make_http_client({});
  GcsRequests requests_{gcs_.url(), *http_, tokens_};
};

TEST_F(GcsRequestsTest, AnExpiredTokenIsRefreshedOnce) {
  gcs_.put("a", "hello");
  gcs_.require_token("token-2");
  EXPECT_EQ(status_of("a"), 200);
  EXPECT_EQ(gcs_.count(GcsCall::kMetadata), 2u);
}

TEST_F(GcsRequestsTest, ASecondRefusalIsFinal) {
  gcs_.put("a", "hello");
  gcs_.require_token("another");
  EXPECT_EQ(status_of("a"), 401);
  EXPECT_EQ(gcs_.count(GcsCall::kMetadata), 2u);
}

TEST_F(GcsRequestsTest, WithoutAnythingToRefreshTheFirstRefusalIsFinal) {
  tokens_.can_refresh = false;
  gcs_.require_token("another");
  EXPECT_EQ(status_of("a"), 401);
  EXPECT_EQ(gcs_.count(GcsCall::kMetadata), 1u);
}

TEST_F(GcsRequestsTest, ARefusalDuringAJobLeadsToANewToken) {
  gcs_.put("a", "hello");
  gcs_.faults().add({.fault = GcsFault::expires_token(), .call = GcsCall::kMetadata});
  EXPECT_EQ(status_of("a"), 200);
}

TEST(GcsRequests, EveryRequestNamesTheProjectThatIsBilled) {
  FakeHttp http([](const AskedRequest&) { return HttpAnswer{.status = 200, .body = "{}"}; });
  NumberedTokens tokens;
  GcsRequests requests("https://storage.googleapis.com", http, tokens, "my project");
  const Uri uri = Uri::parse("gs://bucket/a");
  requests.send({.url = requests.object(uri)});
  requests.open({.url = requests.media(uri)});
  requests.send({.url = "https://storage.googleapis.com/upload?upload_id=1"});  // the server's own
  const std::vector<AskedRequest> asked = http.asked();
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_THAT(asked[0].request.url, testing::EndsWith("/o/a?userProject=my%20project"));
  EXPECT_THAT(asked[1].request.url, testing::EndsWith("?alt=media&userProject=my%20project"));
  EXPECT_THAT(asked[2].request.url, testing::EndsWith("upload_id=1"));
}

TEST(GcsError, ABucketWithRequesterPaysAsksForAProject) {
  const Error error = gcs_error(
      400, {},
      R"({"error": {"code": 400, "message": "Bucket is a requester pays bucket but no user project )"
      R"(provided.", "errors": [{"reason": "required"}]}})",
      Uri::parse("gs://bucket/a"), "storage.objects.get");
  EXPECT_EQ(error.code(), Code::kNotPermitted);
  EXPECT_NE(error.hint().find("--user-project"), std::string::npos);
  const Error other = gcs_error(400, {}, R"({"error": {"message": "Invalid argument."}})",
                                Uri::parse("gs://bucket/a"), "storage.objects.get");
  EXPECT_EQ(other.code(), Code::kBadData);
}

TEST(GcsError, AProjectThatMayNotBeBilledIsNamed) {
  const Error error = gcs_error(
      403, {},
      R"({"error": {"message": "x does not have serviceusage.services.use access to the project."}})",
      Uri::parse("gs://bucket/a"), "storage.objects.get");
  EXPECT_EQ(error.code(), Code::kNotPermitted);
  EXPECT_NE(error.hint().find("Service Usage Consumer"), std::string::npos);
}

TEST_F(GcsRequestsTest, ATokenNeverTravelsInTheClear) {
  GcsRequests elsewhere("http://storage.example.org", *http_, tokens_);
  EXPECT_THAT([&] { elsewhere.send({.url = elsewhere.object(Uri::parse("gs://b/o"))}); },
              ThrowsCode(Code::kUsage, "must not travel"));
}

// Requests to this machine itself use plain HTTP. A proxy could read the token in them.
TEST_F(GcsRequestsTest, ATokenOverPlainHttpPassesNoProxy) {
  ::setenv("http_proxy", "http://127.0.0.1:9", 1);  // nobody listens there
  gcs_.put("a", "hello");
  gcs_.require_token("token-1");
  EXPECT_EQ(status_of("a"), 200);
  ::unsetenv("http_proxy");
}

TEST_F(GcsRequestsTest, AnEndpointIsAnHttpUrl) {
  for (const char* bad : {"", "storage.example.org", "ftp://a"}) {
    EXPECT_THAT([&] { GcsRequests(bad, *http_, tokens_); }, ThrowsCode(Code::kUsage)) << bad;
  }
}

TEST(GcsErrors, ShowAtMostAShortPieceOfTheAnswer) {
  const std::string page(100'000, 'x');
  const Error error = gcs_error(500, {}, page, Uri::parse("gs://b/o"), "storage.objects.get");
  EXPECT_LT(std::string(error.what()).size(), 400u);
}

}  // namespace
}  // namespace berth
