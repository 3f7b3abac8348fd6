#pragma once

#include <memory>
#include <optional>
#include <string>

#include "storage/http/http_client.h"
#include "storage/storage.h"

namespace berth {

// "bytes 10-19/100", or "bytes */100" (RFC 9110 section 14.4).
struct ContentRange {
  uint64_t begin = 0;
  std::optional<uint64_t> total;
};
std::optional<ContentRange> content_range(const HttpHeaders& headers);

// The Range field that asks for what `options` names; empty for all of it.
std::string range_field(const ReadOptions& options);

// What `options` names of an answer 200 or 206, whose body may begin before it and go on after it:
// a server may send all where a part was asked for. Throws kUnavailable when it begins later.
std::unique_ptr<ByteSource> body_part(std::unique_ptr<HttpStream> stream,
                                      const ReadOptions& options, const Uri& uri);

std::unique_ptr<ByteSource> no_bytes();

}  // namespace berth
