#pragma once

#include <functional>

#include "storage/storage.h"

namespace berth {

// Writes one object: `fill` gives all its bytes to a sink, which is then closed. Where the upload
// is lost half-way `fill` is called again, at most three times in all, so it must repeat itself.
Stat store_object(Storage& storage, const Uri& uri, const std::function<void(ByteSink&)>& fill,
                  const WriteOptions& options = {});

}  // namespace berth
