#include "storage/http/body_part.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

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

}  // namespace
}  // namespace berth
