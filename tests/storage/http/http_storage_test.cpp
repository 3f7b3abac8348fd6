#include "storage/http/http_storage.h"

#include <gtest/gtest.h>

#include <atomic>

#include "storage/open_storage.h"
#include "tests/support/http_server.h"
#include "tests/support/remote_storage.h"
#include "tests/support/throws_code.h"

namespace berth {
namespace {

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
