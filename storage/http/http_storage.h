#pragma once

#include <memory>
#include <optional>
#include <string>

#include "storage/http/http_client.h"
#include "storage/storage.h"

// Ranges of bytes over HTTP, and web servers as a Storage. All of it is thread-safe but the
// sources.
namespace berth {

// The value of a Content-Range field: "bytes 10-19/100" or "bytes */100" (RFC 9110 section 14.4).
struct ContentRange {
  uint64_t begin = 0;
  std::optional<uint64_t> total;
};
std::optional<ContentRange> content_range(const HttpHeaders& headers);

// Returns the value of a Range field for `options`, or an empty string if they select everything.
std::string range_field(const ReadOptions& options);

// Returns the bytes that `options` select from an answer with status 200 or 206. A server may send
// the whole object although a part was requested, so the body may begin earlier and end later.
// Throws kUnavailable if it begins later.
std::unique_ptr<ByteSource> body_part(std::unique_ptr<HttpStream> stream,
                                      const ReadOptions& options, const Uri& uri);

// Returns a source without any bytes.
std::unique_ptr<ByteSource> no_bytes();

// A read-only Storage for http:// and https:// URLs. It uses GET and ranges and follows redirects.
// The version of an object is its ETag or Last-Modified. Each call makes one attempt. list()
// returns nothing; create() and remove() throw kUsage. `http` must outlive the storage.
std::unique_ptr<Storage> make_http_storage(HttpClient& http);

}  // namespace berth
