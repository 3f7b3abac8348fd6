#include "storage/http/http_storage.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "storage/open_storage.h"
#include "tests/support/http_server.h"
#include "tests/support/remote_storage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

class FakeStream final : public HttpStream {
 public:
  FakeStream(int status, HttpHeaders headers, std::string body)
      : status_(status), headers_(std::move(headers)), body_(std::move(body)) {}
  int status() const override { return status_; }
  const HttpHeaders& headers() const override { return headers_; }
  size_t read(std::span<std::byte> buffer) override {
    const size_t count = std::min({buffer.size(), body_.size() - read_, size_t{3}});
    std::memcpy(buffer.data(), body_.data() + read_, count);
    read_ += count;
    return count;
  }

 private:
  const int status_;
  const HttpHeaders headers_;
  const std::string body_;
  size_t read_ = 0;
};

const Uri kUri = Uri::parse("gs://b/o");

// The bytes that are read when a server answers like this with `body`.
std::string part(int status, const std::string& range, const ReadOptions& options,
                 const std::string& body = "0123456789") {
  HttpHeaders headers;
  if (!range.empty()) headers.add("Content-Range", range);
  const auto source = body_part(std::make_unique<FakeStream>(status, headers, body), options, kUri);
  return std::string(as_text(read_all(*source, 1000, "part")));
}

TEST(BodyPart, IsTheRequestedPart) {
  EXPECT_EQ(part(200, "", {}), "0123456789");
  EXPECT_EQ(part(200, "", {.offset = 7}), "789");
  EXPECT_EQ(part(200, "", {.offset = 2, .length = 4}), "2345");
  EXPECT_EQ(part(206, "bytes 2-5/10", {.offset = 2, .length = 4}, "2345"), "2345");
  EXPECT_EQ(part(206, "bytes 1-9/10", {.offset = 2, .length = 4}, "123456789"), "2345");
  EXPECT_EQ(part(200, "bytes 2-5/10", {.offset = 2, .length = 4}, "2345"), "2345");
  EXPECT_EQ(part(200, "", {.offset = 20}), "");
}

TEST(BodyPart, AnAnswerThatBeginsLaterIsRefused) {
  EXPECT_THAT([] { part(206, "bytes 5-9/10", {.offset = 2}); }, ThrowsCode(Code::kUnavailable));
  EXPECT_THAT([] { part(206, "", {.offset = 2}); }, ThrowsCode(Code::kUnavailable));
}

TEST(ContentRange, IsReadOrNot) {
  const auto read = [](const char* value) { return content_range({{"content-range", value}}); };
  EXPECT_EQ(read("bytes 10-19/100")->begin, 10u);
  EXPECT_EQ(read("bytes 10-19/100")->total, 100u);
  EXPECT_EQ(read("bytes 10-19/*")->total, std::nullopt);
  EXPECT_EQ(read("bytes */100")->total, 100u);
  for (const char* bad : {"", "bytes", "bytes 10-19", "10-19/100", "bytes x-19/100", "/ ",
                          "bytes 99999999999999999999-1/2"}) {
    EXPECT_FALSE(read(bad)) << bad;
  }
}

TEST(RangeField, NamesAPart) {
  EXPECT_EQ(range_field({}), "");
  EXPECT_EQ(range_field({.offset = 5}), "bytes=5-");
  EXPECT_EQ(range_field({.offset = 5, .length = 10}), "bytes=5-14");
  EXPECT_EQ(range_field({.offset = 0, .length = 1}), "bytes=0-0");
}

// A server of one file, whose behaviour the tests can change.
class HttpStorageTest : public testing::Test {
 protected:
  HttpStorageTest() {
    StorageOptions options;
    options.transfer.part_bytes = 1000;
    clock_.attach_to(options.retry);
    storage_ = open_storage(options);
  }

  ServedAnswer answer(const ServedRequest& request) {
    ++requests_;
    if (request.path != "/file.csv") return {.status = 404};
    if (requests_ <= failures_) return {.status = 503};
    ServedAnswer answer{.headers = {{"ETag", std::to_string(version_)}}, .body = content_};
    size_t begin = 0, end = content_.size() - 1;
    const std::string range = request.header("range").value_or("");
    if (knows_ranges_ && std::sscanf(range.c_str(), "bytes=%zu-%zu", &begin, &end) >= 1) {
      end = std::min(end, content_.size() - 1);
      answer.status = 206;
      answer.headers.emplace_back("Content-Range", "bytes " + std::to_string(begin) + "-" +
                                                       std::to_string(end) + "/" +
                                                       std::to_string(content_.size()));
      answer.body = content_.substr(begin, end - begin + 1);
    }
    if (cut_once_ && begin == 0 && answer.body.size() > 1) {
      cut_once_ = false;
      answer.fault.cut_after = 10;
    }
    return answer;
  }

  Uri at(const std::string& target) const { return Uri::parse(server_.url() + target); }
  std::string get(const std::string& target) {
    return std::string(as_text(read_all(*storage_->open(at(target)), 1 << 20, target)));
  }

  const std::string content_ = noise(5000);
  // The server reads these members from several threads, one for each connection.
  std::atomic<int> version_ = 1, requests_ = 0, failures_ = 0;
  std::atomic<bool> knows_ranges_ = true, cut_once_ = false;
  HttpServer server_{[this](const ServedRequest& request) { return answer(request); }};
  SleepClock clock_;
  std::unique_ptr<Storage> storage_;
};

TEST_F(HttpStorageTest, ReadsAFile) {
  EXPECT_EQ(get("/file.csv"), content_);
  EXPECT_EQ(storage_->stat(at("/file.csv"))->size, content_.size());
}

TEST_F(HttpStorageTest, ResumesAfterACut) {
  cut_once_ = true;
  EXPECT_EQ(get("/file.csv"), content_);
}

TEST_F(HttpStorageTest, ResumesWithAServerWithoutRanges) {
  knows_ranges_ = false;
  cut_once_ = true;
  EXPECT_EQ(get("/file.csv"), content_);
}

TEST_F(HttpStorageTest, IsRetried) {
  failures_ = 3;
  EXPECT_EQ(get("/file.csv"), content_);
}

TEST_F(HttpStorageTest, AFileThatChangesWhileItIsReadIsNotMixed) {
  const auto source = storage_->open(at("/file.csv"));
  version_ = 2;
  const ReadOptions pinned{.generation = storage_->stat(at("/file.csv"))->generation + 1};
  EXPECT_THAT([&] { storage_->open(at("/file.csv"), pinned); }, ThrowsCode(Code::kNotFound));
}

TEST_F(HttpStorageTest, AbsenceIsNotFound) {
  EXPECT_FALSE(storage_->stat(at("/other.csv")));
  EXPECT_THAT([&] { get("/other.csv"); }, ThrowsCode(Code::kNotFound));
}

TEST_F(HttpStorageTest, CannotBeWritten) {
  EXPECT_THAT([&] { storage_->create(at("/file.csv")); }, ThrowsCode(Code::kUsage, "only be read"));
  EXPECT_THAT([&] { storage_->remove(at("/file.csv")); }, ThrowsCode(Code::kUsage));
}

TEST_F(HttpStorageTest, AQueryIsSentButNeverShown) {
  const Uri uri = at("/none.csv?signature=secret");
  EXPECT_EQ(uri.file_name(), "none.csv");
  EXPECT_EQ(uri.to_string().find("secret"), std::string::npos);
  EXPECT_NE(uri.url().find("secret"), std::string::npos);
  try {
    storage_->open(uri);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos);
  }
}

}  // namespace
}  // namespace berth
