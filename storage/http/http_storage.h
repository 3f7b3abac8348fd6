#pragma once

#include <memory>

#include "storage/http/http_client.h"
#include "storage/storage.h"

namespace berth {

// A read-only Storage for http:// and https:// URLs. It uses GET and ranges and follows redirects.
// The version of an object is its ETag or Last-Modified. Each call makes one attempt. list()
// returns nothing; create() and remove() throw kUsage. `http` must outlive the storage.
std::unique_ptr<Storage> make_http_storage(HttpClient& http);

}  // namespace berth
