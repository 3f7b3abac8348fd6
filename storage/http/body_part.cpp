#include "storage/http/body_part.h"

#include <algorithm>

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

}  // namespace berth
