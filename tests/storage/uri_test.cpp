#include <gtest/gtest.h>

#include "storage/base/secrets.h"
#include "storage/open_storage.h"
#include "storage/storage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

using std::string_literals::operator""s;

TEST(Uri, TakesLocalPathsAsTheyAre) {
  for (const char* path : {"a/b", "/a/b", ".", "./a", "a b%20", "/gcs/bucket/a", "a:b", "c:/d"}) {
    const Uri uri = Uri::parse(path);
    EXPECT_TRUE(uri.is_local());
    EXPECT_EQ(uri.path(), path);
    EXPECT_EQ(uri.to_string(), path);
  }
}

TEST(Uri, ReadsFileUrisAsLocalPaths) {
  EXPECT_EQ(Uri::parse("file:///a/b"), Uri::parse("/a/b"));
  EXPECT_EQ(Uri::parse("file://localhost/a/b"), Uri::parse("/a/b"));
  EXPECT_EQ(Uri::parse("FILE:///").path(), "/");
}

TEST(Uri, SplitsBucketAndObject) {
  const Uri uri = Uri::parse("gs://bucket/a/b c.pickle");
  EXPECT_EQ(uri.scheme(), "gs");
  EXPECT_EQ(uri.host(), "bucket");
  EXPECT_EQ(uri.path(), "a/b c.pickle");
  EXPECT_FALSE(uri.is_local());
  EXPECT_EQ(uri.to_string(), "gs://bucket/a/b c.pickle");
  EXPECT_EQ(Uri::parse("gs://bucket").path(), "");
  EXPECT_EQ(Uri::parse("gs://bucket").to_string(), "gs://bucket/");
}

TEST(Uri, KeepsPortAndQueryOfWebAddresses) {
  const Uri uri = Uri::parse("https://host:8080/a?b=c/d");
  EXPECT_EQ(uri.scheme(), "https");
  EXPECT_EQ(uri.host(), "host:8080");
  EXPECT_EQ(uri.url(), "https://host:8080/a?b=c/d");
  EXPECT_EQ(uri.to_string(), "https://host:8080/a");  // a query may hold a secret
  EXPECT_EQ(uri.file_name(), "a");
}

TEST(Uri, ShowsNoUserAndPassword) {
  const Uri uri = Uri::parse("https://user:pa%40ss@host:8080/a/b.csv?key=c@d");
  EXPECT_EQ(uri.host(), "host:8080");
  EXPECT_EQ(uri.to_string(), "https://host:8080/a/b.csv");
  EXPECT_EQ(uri.url(), "https://user:pa%40ss@host:8080/a/b.csv?key=c@d");
  EXPECT_EQ(uri.with_path("a/c.csv").url(), "https://user:pa%40ss@host:8080/a/c.csv");
  EXPECT_EQ(Uri::parse("https://host/a@b").url(), "https://host/a@b");
  try {
    Uri::parse("https://user:password@/a");
    ADD_FAILURE() << "a URL without a host";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("password"), std::string::npos) << error.what();
  }
}

TEST(Uri, RefusesInvalidUris) {
  for (const std::string& text : {""s, "gs://"s, "gs:///a"s, "http://"s, "s3://bucket/a"s, "a\0b"s,
                                  "file://"s, "file://elsewhere/a"s, "gs:/bucket/a"s}) {
    EXPECT_THAT([&] { Uri::parse(text); }, ThrowsCode(Code::kUsage)) << text;
  }
}

TEST(Uri, NamesTheUnknownScheme) {
  EXPECT_THAT([] { Uri::parse("s3://bucket/a"); }, ThrowsCode(Code::kUsage, "\"s3\""));
  EXPECT_THAT([] { Uri::parse("gs:/bucket/a"); }, ThrowsCode(Code::kUsage, "write gs://"));
  EXPECT_THAT([] { Uri::parse("bq://project.a.b"); }, ThrowsCode(Code::kUsage, "BigQuery"));
}

TEST(Uri, JoinsWithOneSlash) {
  EXPECT_EQ((Uri::parse("a") / "b/c").to_string(), "a/b/c");
  EXPECT_EQ((Uri::parse("a/") / "b").to_string(), "a/b");
  EXPECT_EQ((Uri::parse("/") / "b").to_string(), "/b");
  EXPECT_EQ((Uri() / "b").to_string(), "b");
  EXPECT_EQ((Uri::parse("gs://bucket") / "b").to_string(), "gs://bucket/b");
  EXPECT_EQ((Uri::parse("a") / "").to_string(), "a");
}

TEST(Uri, FileNameIsTheLastPart) {
  EXPECT_EQ(Uri::parse("a/b.csv").file_name(), "b.csv");
  EXPECT_EQ(Uri::parse("b.csv").file_name(), "b.csv");
  EXPECT_EQ(Uri::parse("a/").file_name(), "");
  EXPECT_EQ(Uri::parse("gs://bucket").file_name(), "");
}

TEST(Uri, SurvivesPrintingAndParsing) {
  for (const char* text : {"a/b", "/", "gs://b/", "gs://b/c//d", "http://h/", "https://h:1/x?y"}) {
    EXPECT_EQ(Uri::parse(Uri::parse(text).url()), Uri::parse(text));
  }
}

TEST(Uri, RemembersWhatIsSecretInAnAddress) {
  for (const char* text :
       {"https://h/a?sig=First-Signature-01&v=2", "http://me:Second-Password@h/a",
        "ftp://me:Third-Password@h/a", "https:/me:Fourth-Password@h/a",
        "https//me:Fifth-Password@h/a", "hf://me/model@Sixth-Revision",
        "gs://bucket/a?Seventh-Generation", "data//a?Eighth-Pattern"}) {
    try {
      Uri::parse(text);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUsage) << text;
    }
  }
  EXPECT_EQ(without_known_secrets("First-Signature-01"), "...");
  for (const char* secret :
       {"Second-Password", "Third-Password", "Fourth-Password", "Fifth-Password"}) {
    EXPECT_EQ(without_known_secrets(secret), "...") << secret;
  }
  for (const char* text : {"model@Sixth-Revision", "?Seventh-Generation", "?Eighth-Pattern"}) {
    EXPECT_EQ(without_known_secrets(text), text);
  }
}

TEST(OpenStorage, ServesLocalPaths) {
  EXPECT_FALSE(open_storage()->stat(Uri::parse("/no/such/file")).has_value());
}

TEST(OpenStorage, RefusesAnEndpointThatIsNoUrl) {
  const auto storage = open_storage({.endpoint = "ftp://host", .anonymous = true});
  EXPECT_THAT([&] { storage->open(Uri::parse("gs://bucket/a")); }, ThrowsCode(Code::kUsage));
}

}  // namespace
}  // namespace berth
