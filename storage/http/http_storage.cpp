#include "storage/http/http_storage.h"

#include <algorithm>
#include <functional>

#include "storage/base/error.h"
#include "storage/base/text.h"

namespace berth {
namespace {

class BodyPart final : public ByteSource {
 public:
  BodyPart(std::unique_ptr<HttpStream> stream, uint64_t skip, std::optional<uint64_t> length)
      : stream_(std::move(stream)), skip_(skip), left_(length.value_or(UINT64_MAX)) {}

  size_t read(std::span<std::byte> buffer) override {
    while (skip_ > 0) {
      const size_t count = stream_->read(buffer.first(std::min<uint64_t>(skip_, buffer.size())));
      if (count == 0) return 0;
      skip_ -= count;
    }
    const size_t wanted = std::min<uint64_t>(left_, buffer.size());
    if (wanted == 0) return 0;
    const size_t count = stream_->read(buffer.first(wanted));
    left_ -= count;
    return count;
  }

 private:
  const std::unique_ptr<HttpStream> stream_;
  uint64_t skip_, left_;
};

class NoBytes final : public ByteSource {
 public:
  size_t read(std::span<std::byte>) override { return 0; }
};

}  // namespace

std::optional<ContentRange> content_range(const HttpHeaders& headers) {
  const std::string value = headers.find("content-range").value_or("");
  const size_t space = value.find(' '), dash = value.find('-'), slash = value.find('/');
  if (space == std::string::npos || slash == std::string::npos || slash < space) {
    return std::nullopt;
  }
  ContentRange range{.begin = 0, .total = parse_number(std::string_view(value).substr(slash + 1))};
  if (dash != std::string::npos && space < dash && dash < slash) {
    const std::optional<uint64_t> begin =
        parse_number(std::string_view(value).substr(space + 1, dash - space - 1));
    if (!begin) return std::nullopt;
    range.begin = *begin;
  }
  return range;
}

std::string range_field(const ReadOptions& options) {
  if (options.offset == 0 && !options.length) return "";
  if (!options.length) return cat("bytes=", options.offset, "-");
  return cat("bytes=", options.offset, "-", options.offset + *options.length - 1);
}

std::unique_ptr<ByteSource> body_part(std::unique_ptr<HttpStream> stream,
                                      const ReadOptions& options, const Uri& uri) {
  const std::optional<ContentRange> range = content_range(stream->headers());
  const uint64_t begin = range ? range->begin : 0;
  if ((stream->status() == 206 && !range) || begin > options.offset) {
    throw Error(Code::kUnavailable, "the server sent a different range than was requested",
                uri.to_string());
  }
  return std::make_unique<BodyPart>(std::move(stream), options.offset - begin, options.length);
}

std::unique_ptr<ByteSource> no_bytes() { return std::make_unique<NoBytes>(); }

namespace {

// Returns a hash of the version that the server states, or 0 if it states none.
Generation generation_from(const HttpHeaders& headers) {
  const std::string version =
      headers.find("etag").value_or(headers.find("last-modified").value_or(""));
  return version.empty() ? 0 : std::max<uint64_t>(std::hash<std::string>()(version), 1);
}

Error error_of(int status, const HttpHeaders& headers, const Uri& uri) {
  const std::string said = cat("HTTP ", status);
  const std::string where = uri.to_string();
  if (status == 404 || status == 410) {
    return Error(Code::kNotFound, cat("no such file (", said, ")"), where, "check the URL");
  }
  if (status == 401 || status == 403) {
    return Error(Code::kNotPermitted, cat("the server refuses it (", said, ")"), where,
                 "only public and signed URLs can be read");
  }
  if (is_transient(status)) {
    return Error(Code::kUnavailable, cat("the server is temporarily unavailable (", said, ")"),
                 where)
        .after(headers.retry_after_s());
  }
  return Error(Code::kBadData, cat("the server refuses the request (", said, ")"), where);
}

class HttpStorage final : public Storage {
 public:
  explicit HttpStorage(HttpClient& http) : http_(http) {}

  std::unique_ptr<ByteSource> open(const Uri& uri, const ReadOptions& options) override {
    if (options.length == uint64_t{0}) return no_bytes();
    std::unique_ptr<HttpStream> stream = get(uri, range_field(options), options.stop);
    if (stream->status() == 416) return no_bytes();
    if (stream->status() != 200 && stream->status() != 206) {
      throw error_of(stream->status(), stream->headers(), uri);
    }
    if (options.generation && generation_from(stream->headers()) != *options.generation) {
      throw Error(Code::kNotFound, "was replaced since it was looked up", uri.to_string(),
                  "start again, and leave input files alone while a job reads them");
    }
    return body_part(std::move(stream), options, uri);
  }

  // Sends a GET for one byte, because signed URLs and some servers reject HEAD.
  std::optional<Stat> stat(const Uri& uri) override {
    const std::unique_ptr<HttpStream> stream = get(uri, "bytes=0-0", {});
    const HttpHeaders& headers = stream->headers();
    std::optional<uint64_t> size;
    switch (stream->status()) {
      case 206:
      case 416:
        size = content_range(headers).value_or(ContentRange{}).total;
        break;
      case 200:
        size = parse_number(headers.find("content-length").value_or(""));
        break;
      case 404:
      case 410:
        return std::nullopt;
      default:
        throw error_of(stream->status(), headers, uri);
    }
    if (!size) {
      throw Error(Code::kBadData, "the server does not send the file's size", uri.to_string(),
                  "download it first");
    }
    return Stat{.name = uri.to_string(), .size = *size, .generation = generation_from(headers)};
  }

  std::vector<Stat> list(const Uri&, size_t /*enough*/) override { return {}; }

  std::unique_ptr<ByteSink> create(const Uri& uri, const WriteOptions&) override { refuse(uri); }
  void remove(const Uri& uri, std::optional<Generation>) override { refuse(uri); }

 private:
  [[noreturn]] static void refuse(const Uri& uri) {
    throw Error(Code::kUsage, "http(s):// can only be read", uri.to_string(),
                "write to a local path or gs://");
  }

  std::unique_ptr<HttpStream> get(const Uri& uri, const std::string& range,
                                  const std::stop_token& stop) {
    HttpRequest request{.url = uri.url(),
                        .headers = {{"Accept-Encoding", "identity"}},
                        .follow_redirects = true,
                        .stop = stop};
    if (!range.empty()) request.headers.add("Range", range);
    return http_.open(request);
  }

  HttpClient& http_;
};

}  // namespace

std::unique_ptr<Storage> make_http_storage(HttpClient& http) {
  return std::make_unique<HttpStorage>(http);
}

}  // namespace berth
