#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/http/http_client.h"

namespace berth {

// A request to a FakeHttp, with its body in one piece.
struct AskedRequest {
  HttpRequest request;
  std::string body;

  std::string header(std::string_view name) const {
    return request.headers.find(name).value_or("");
  }
};

// An HttpClient without a network. `answer` answers each request. Several threads may call it at
// the same time, and it may throw. Thread-safe.
class FakeHttp final : public HttpClient {
 public:
  using Answer = std::function<HttpAnswer(const AskedRequest&)>;

  explicit FakeHttp(Answer answer) : answer_(std::move(answer)) {}

  std::unique_ptr<HttpStream> open(const HttpRequest& request) override {
    AskedRequest asked{.request = request, .body = ""};
    for (const Bytes piece : request.body) asked.body += as_text(piece);
    asked.request.body.clear();
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(asked);
    }
    return std::make_unique<Stream>(answer_(asked));
  }

  std::vector<AskedRequest> asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  size_t requests() const { return asked().size(); }

 private:
  class Stream final : public HttpStream {
   public:
    explicit Stream(HttpAnswer answer) : answer_(std::move(answer)) {}
    int status() const override { return answer_.status; }
    const HttpHeaders& headers() const override { return answer_.headers; }
    size_t read(std::span<std::byte> buffer) override {
      const Bytes rest = as_bytes(std::string_view(answer_.body)).subspan(offset_);
      const size_t count = std::min(rest.size(), buffer.size());
      std::copy_n(rest.begin(), count, buffer.begin());
      offset_ += count;
      return count;
    }

   private:
    const HttpAnswer answer_;
    size_t offset_ = 0;
  };

  const Answer answer_;
  mutable std::mutex mutex_;
  std::vector<AskedRequest> asked_;
};

}  // namespace berth
