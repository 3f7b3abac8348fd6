#pragma once

#include <stop_token>
#include <string>

#include "storage/hub/hub_cache.h"
#include "storage/hub/hub_requests.h"
#include "storage/retry.h"

namespace berth {

// Fetches a file into `cache`, unless another process does so meanwhile, and returns its local
// path. Goes on where an earlier attempt was interrupted. The content is compared with its hash
// before it appears. Failures that may pass are retried as `retry` says. Throws what
// HubRequests::open() throws, kUnavailable if what arrives has another hash in two downloads, and
// kNoSpace or kNotPermitted if the cache cannot be written.
std::string download(HubRequests& requests, const HubCache& cache, const HubPath& path,
                     const std::string& commit, const HubFile& file, const RetryOptions& retry,
                     const std::stop_token& stop);

}  // namespace berth
