#include "tests/support/fake_gcs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/gzipped.h"
#include "tests/support/raw_http.h"

// The fake itself: tests of storage/ rest on it.
namespace berth {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

constexpr size_t kUnit = size_t{256} << 10;
const char kUpload[] = "/upload/storage/v1/b/bucket/o?uploadType=";

auto status(int code) { return Field("status", &RawAnswer::status, code); }
auto body(const auto& matcher) { return Field("body", &RawAnswer::body, matcher); }

class FakeGcsTest : public testing::Test {
 protected:
  RawAnswer send(const std::string& method, const std::string& target,
                 const RawHttp::Headers& headers = {}, std::string_view content = {}) const {
    const std::string url = gcs.url();
    return RawHttp(std::stoi(url.substr(url.rfind(':') + 1)))
        .send(method, target, headers, content);
  }
  RawAnswer get(const std::string& target, const RawHttp::Headers& headers = {}) const {
    return send("GET", target, headers);
  }
  RawAnswer download(const std::string& name, const RawHttp::Headers& headers = {}) const {
    return get("/download/storage/v1/b/bucket/o/" + name + "?alt=media", headers);
  }
  std::string start_session(const std::string& name, const std::string& more = "") {
    const auto answer = send("POST", kUpload + ("resumable&name=" + name) + more, {}, "{}");
    EXPECT_THAT(answer, status(200));
    const std::string uri = answer.headers.at("Location");
    return uri.substr(uri.find("/upload"));
  }
  RawAnswer chunk(const std::string& session, const std::string& range,
                  std::string_view content = {}) {
    return send("PUT", session, {{"Content-Range", "bytes " + range}}, content);
  }

  FakeGcs gcs;
};

TEST_F(FakeGcsTest, MetadataDescribesTheObject) {
  const uint64_t generation = gcs.put("a/b c", "123456789");
  const auto answer = get("/storage/v1/b/bucket/o/a%2Fb%20c");
  EXPECT_THAT(answer, AllOf(status(200), body(HasSubstr(R"("crc32c":"4waSgw==")"))));
  EXPECT_THAT(answer.body, HasSubstr("\"generation\":\"" + std::to_string(generation) + "\""));
  EXPECT_THAT(answer.body, HasSubstr(R"("name":"a/b c")"));
}

TEST_F(FakeGcsTest, AbsenceIsRefusedInGooglesWords) {
  EXPECT_THAT(get("/storage/v1/b/bucket/o/x"),
              AllOf(status(404), body(HasSubstr("\"message\": \"No such object: bucket/x\""))));
  EXPECT_THAT(download("x"), AllOf(status(404), body("No such object: bucket/x")));
  EXPECT_THAT(get("/storage/v1/b/other/o/x"),
              AllOf(status(404), body(HasSubstr("The specified bucket does not exist."))));
}

TEST_F(FakeGcsTest, RangesOfADownload) {
  gcs.put("x", "0123456789");
  gcs.put("empty", "");
  const auto part = download("x", {{"Range", "bytes=2-4"}});
  EXPECT_THAT(part, AllOf(status(206), body("234")));
  EXPECT_EQ(part.headers.at("content-range"), "bytes 2-4/10");
  EXPECT_THAT(download("x", {{"Range", "bytes=7-"}}), AllOf(status(206), body("789")));
  EXPECT_THAT(download("x", {{"Range", "bytes=10-"}}), status(416));
  EXPECT_THAT(download("empty", {{"Range", "bytes=0-"}}), status(416));
  EXPECT_THAT(download("empty"), AllOf(status(200), body("")));
}

TEST_F(FakeGcsTest, AnOldGenerationIsGone) {
  const std::string old = std::to_string(gcs.put("x", "old"));
  EXPECT_LT(std::stoull(old), gcs.put("x", "new"));
  const std::string target = "/storage/v1/b/bucket/o/x?alt=media";
  EXPECT_THAT(get(target), body("new"));
  EXPECT_THAT(get(target + "&generation=" + old), status(404));
  EXPECT_THAT(get(target + "&ifGenerationMatch=" + old), status(412));
}

TEST_F(FakeGcsTest, GzipIsDecompressedForClientsThatDoNotAcceptIt) {
  gcs.put("x", gzipped("plain text"), "gzip");
  const auto plain = download("x", {{"Range", "bytes=0-3"}});
  EXPECT_THAT(plain, AllOf(status(200), body("plain text")));
  EXPECT_EQ(plain.headers.at("x-guploader-response-body-transformations"), "gunzipped");
  const auto stored = download("x", {{"Accept-Encoding", "gzip"}});
  EXPECT_EQ(stored.body, gzipped("plain text"));
  EXPECT_EQ(stored.headers.at("x-goog-stored-content-encoding"), "gzip");
}

TEST_F(FakeGcsTest, ListsComeInPagesOneOfThemEmpty) {
  FakeGcs small({.page_size = 2, .empty_middle_page = true});
  for (const char* name : {"p/a", "p/b", "p/c", "q"}) small.put(name, "");
  const std::string url = small.url();
  const RawHttp http(std::stoi(url.substr(url.rfind(':') + 1)));
  const std::string target = "/storage/v1/b/bucket/o?prefix=p/";
  EXPECT_THAT(http.send("GET", target).body, HasSubstr(R"("nextPageToken":"+p/b")"));
  const std::string empty = http.send("GET", target + "&pageToken=%2Bp%2Fb").body;
  EXPECT_THAT(empty, AllOf(HasSubstr(R"("nextPageToken":"=p/b")"), Not(HasSubstr("items"))));
  const std::string last = http.send("GET", target + "&pageToken=%3Dp%2Fb").body;
  EXPECT_THAT(last, AllOf(HasSubstr("p/c"), Not(HasSubstr("nextPageToken"))));
}

TEST_F(FakeGcsTest, AMultipartUploadIsComparedWithItsChecksum) {
  const auto upload = [&](const std::string& crc) {
    return send("POST", kUpload + std::string("multipart&name=x&ifGenerationMatch=0"),
                {{"Content-Type", "multipart/related; boundary=B"}},
                "--B\r\nContent-Type: application/json\r\n\r\n{\"crc32c\":\"" + crc +
                    "\"}\r\n--B\r\nContent-Type: a/b\r\n\r\n123456789\r\n--B--\r\n");
  };
  EXPECT_THAT(upload("AAAAAA=="), AllOf(status(400), body(HasSubstr("doesn't match"))));
  EXPECT_EQ(gcs.get("x"), std::nullopt);
  EXPECT_THAT(upload("4waSgw=="), AllOf(status(200), body(HasSubstr("storage#object"))));
  EXPECT_EQ(gcs.get("x"), "123456789");
  EXPECT_THAT(upload("4waSgw=="), status(412));
}

TEST_F(FakeGcsTest, ASessionTakesChunksAndSaysWhatItHas) {
  const std::string session = start_session("x", "&ifGenerationMatch=0");
  const std::string first(kUnit, 'a');
  auto answer = chunk(session, "*/*");
  EXPECT_THAT(answer, status(308));
  EXPECT_FALSE(answer.headers.contains("Range"));
  EXPECT_THAT(chunk(session, "0-99/*", std::string(100, 'a')), status(400));
  answer = chunk(session, "0-262143/*", first);
  EXPECT_THAT(answer, status(308));
  EXPECT_EQ(answer.headers.at("Range"), "bytes=0-262143");
  EXPECT_THAT(chunk(session, "262144-262150/*", "ab"), status(400));
  EXPECT_EQ(gcs.get("x"), std::nullopt);
  EXPECT_THAT(chunk(session, "262144-262145/262146", "zz"), status(200));
  EXPECT_EQ(gcs.get("x"), first + "zz");
  EXPECT_THAT(chunk(session, "*/*"), AllOf(status(200), body(HasSubstr("\"262146\""))));
}

TEST_F(FakeGcsTest, AnEmptyObjectEndsWithAQuery) {
  EXPECT_THAT(chunk(start_session("x"), "*/0"), status(200));
  EXPECT_EQ(gcs.get("x"), "");
}

TEST_F(FakeGcsTest, AChunkAheadOfTheSessionIsRefused) {
  EXPECT_THAT(chunk(start_session("x"), "262144-262144/262145", "z"),
              AllOf(status(503), body(HasSubstr("exceeds already uploaded size"))));
}

TEST_F(FakeGcsTest, TheChecksumOfTheLastChunkIsCompared) {
  const std::string session = start_session("x");
  EXPECT_THAT(send("PUT", session, {{"x-goog-hash", "crc32c=AAAAAA=="}}, "123456789"), status(400));
  EXPECT_THAT(chunk(session, "*/*"), status(410));
  EXPECT_EQ(gcs.get("x"), std::nullopt);
}

TEST_F(FakeGcsTest, TheConditionOfASessionHoldsUntilItsEnd) {
  const std::string session = start_session("x", "&ifGenerationMatch=0");
  gcs.put("x", "another writer's");
  EXPECT_THAT(chunk(session, "0-1/2", "ab"), status(412));
  EXPECT_EQ(gcs.get("x"), "another writer's");
}

TEST_F(FakeGcsTest, SessionsEnd) {
  EXPECT_THAT(chunk("/upload/storage/v1/b/bucket/o?upload_id=none", "*/*"), status(404));
  const std::string session = start_session("x");
  EXPECT_THAT(send("DELETE", session), status(499));
  EXPECT_THAT(chunk(session, "*/*"), status(410));
  const std::string other = start_session("x");
  gcs.sessions().lose_all(404);
  EXPECT_THAT(chunk(other, "*/*"), status(404));
}

TEST_F(FakeGcsTest, DeletesTheVersionThatWasMeant) {
  const std::string target = "/storage/v1/b/bucket/o/x";
  gcs.put("x", "1");
  EXPECT_THAT(send("DELETE", target + "?ifGenerationMatch=1"), status(412));
  EXPECT_THAT(send("DELETE", target), status(204));
  EXPECT_THAT(send("DELETE", target), status(404));
}

TEST_F(FakeGcsTest, TokensAndPermissions) {
  gcs.put("x", "1");
  gcs.require_token("good");
  const std::string target = "/storage/v1/b/bucket/o/x";
  EXPECT_THAT(get(target), status(401));
  EXPECT_THAT(get(target, {{"authorization", "Bearer old"}}), status(401));
  EXPECT_THAT(get(target, {{"authorization", "Bearer good"}}), status(200));
  gcs.require_token(std::nullopt);
  gcs.deny("storage.objects.delete");
  EXPECT_THAT(get(target), status(200));
  EXPECT_THAT(send("DELETE", target),
              AllOf(status(403), body(HasSubstr("does not have storage.objects.delete access"))));
  EXPECT_THAT(send("POST", kUpload + std::string("media&name=x"), {}, "2"), status(403));
  EXPECT_THAT(send("POST", kUpload + std::string("media&name=y"), {}, "2"), status(200));
}

TEST_F(FakeGcsTest, RulesStrikeInOrder) {
  gcs.put("x", "0123456789");
  gcs.faults().add({GcsFault::answers(503, 7), GcsCall::kDownload, "", 1});
  gcs.faults().add({GcsFault::resets(), GcsCall::kDownload});
  gcs.faults().add({GcsFault::cuts_at(4), GcsCall::kDownload});
  gcs.faults().add({GcsFault::damages(4), GcsCall::kDownload});
  EXPECT_THAT(download("x"), status(200));
  const auto refused = download("x");
  EXPECT_THAT(refused, status(503));
  EXPECT_EQ(refused.headers.at("Retry-After"), "7");
  EXPECT_THAT(download("x"), status(0));
  const auto cut = download("x");
  EXPECT_EQ(cut.body, "0123");
  EXPECT_FALSE(cut.complete);
  EXPECT_EQ(download("x").body, "0123$56789");
  EXPECT_EQ(download("x").body, "0123456789");
  EXPECT_EQ(gcs.faults().rules_left(), 0u);
  EXPECT_EQ(gcs.count(GcsCall::kDownload), 6u);
}

TEST_F(FakeGcsTest, ALostAnswerWasDone) {
  gcs.faults().add({GcsFault::loses_answer()});
  EXPECT_THAT(send("POST", kUpload + std::string("media&name=x"), {}, "new"), status(0));
  EXPECT_EQ(gcs.get("x"), "new");
}

TEST_F(FakeGcsTest, ChunksAreKeptInPart) {
  const std::string session = start_session("x");
  const std::string content(3 * kUnit, 'a');
  const std::string range = "0-" + std::to_string(content.size() - 1) + "/*";
  gcs.faults().add({GcsFault::keeps(kUnit + 5), GcsCall::kChunk});
  EXPECT_EQ(chunk(session, range, content).headers.at("Range"), "bytes=0-262143");
  gcs.faults().add({GcsFault::cuts_upload_at(2 * kUnit + 5), GcsCall::kChunk});
  EXPECT_THAT(chunk(session, range, content), status(0));
  EXPECT_EQ(chunk(session, "*/*").headers.at("Range"), "bytes=0-524287");
  gcs.faults().add({GcsFault::loses_session(410), GcsCall::kStatusQuery});
  EXPECT_THAT(chunk(session, "*/*"), status(410));
  EXPECT_THAT(chunk(session, "*/*"), status(410));
}

TEST_F(FakeGcsTest, TheWholeObjectForARange) {
  gcs.put("x", "0123456789");
  gcs.faults().add({GcsFault::sends_whole_object()});
  EXPECT_THAT(download("x", {{"Range", "bytes=2-4"}}), AllOf(status(200), body("0123456789")));
}

TEST_F(FakeGcsTest, RandomFaultsRepeatThemselvesAndRelent) {
  gcs.put("x", "0123456789");
  const auto run = [&](uint64_t seed) {
    gcs.faults().draw({.seed = seed, .probability = 0.9, .in_a_row = 3});
    std::vector<int> seen;
    for (int i = 0; i < 24; ++i) {
      const auto answer = download("x");
      seen.push_back(answer.complete && answer.body == "0123456789" ? 200 : answer.status);
    }
    return seen;
  };
  const auto first = run(7);
  EXPECT_EQ(first, run(7));
  EXPECT_NE(first, run(8));
  EXPECT_GT(std::set<int>(first.begin(), first.end()).size(), 3u);
  for (size_t i = 4; i <= first.size(); ++i) {
    EXPECT_GT(std::count(&first[i - 4], &first[i - 4] + 4, 200), 0);  // never four in a row
  }
}

TEST(HttpServerTest, ServesManyAtOnceAndEndsWithStallsUnderWay) {
  std::vector<std::thread> clients;
  std::atomic<int> answered = 0;
  {
    HttpServer server([](const ServedRequest& request) -> ServedAnswer {
      const double stall_s = request.path == "/stall" ? 3600 : 0;
      return {.body = request.query.at("q"), .fault = {.stall_s = stall_s}};
    });
    for (int i = 0; i < 8; ++i) {
      clients.emplace_back([&answered, port = server.port(), i] {
        const RawHttp http(port);
        const std::string q = std::to_string(i);
        EXPECT_EQ(http.send("GET", "/x?q=a+%25" + q).body, "a %" + q);
        ++answered;
        if (i < 2) {
          EXPECT_EQ(http.send("GET", "/stall?q=1").status, 0);
        }
      });
    }
    while (answered < 8 || server.connections() < 10) std::this_thread::yield();
  }
  for (std::thread& client : clients) client.join();
}

TEST(HttpServerTest, TakesChunkedBodiesAndKeepsTheConnection) {
  HttpServer server([](const ServedRequest& request) -> ServedAnswer {
    return {.body = request.body, .chunked = true};
  });
  const std::string answers = RawHttp(server.port())
                                  .exchange(
                                      "PUT /1 HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
                                      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
                                      "PUT /2 HTTP/1.1\r\nContent-Length: 2\r\n"
                                      "Connection: close\r\n\r\nxy");
  EXPECT_THAT(answers, HasSubstr("5\r\nabcde\r\n0\r\n"));
  EXPECT_THAT(answers, HasSubstr("2\r\nxy\r\n0\r\n"));
  EXPECT_EQ(server.connections(), 1u);
}

}  // namespace
}  // namespace berth
