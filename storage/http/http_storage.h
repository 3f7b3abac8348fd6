#pragma once

#include <memory>

#include "storage/http/http_client.h"
#include "storage/storage.h"

namespace berth {

// http:// and https:// objects, to read: GET, HEAD and ranges, redirects followed, the version
// pinned by ETag or Last-Modified. One try a call. list() finds nothing; writing is kUsage. `http`
// outlives it.
std::unique_ptr<Storage> make_http_storage(HttpClient& http);

}  // namespace berth
