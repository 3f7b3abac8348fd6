#include "storage/google/private_url.h"

#include <gtest/gtest.h>

#include "tests/support/throws_code.h"

namespace berth {
namespace {

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

}  // namespace
}  // namespace berth
