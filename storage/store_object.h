#pragma once

#include <functional>

#include "storage/storage.h"

namespace berth {

// Writes one object: `fill` writes its bytes to a sink, which is then closed. If the storage loses
// the upload (UploadLost), `fill` is called again with a new sink, up to three times in all. It
// must write the same bytes each time.
Stat store_object(Storage& storage, const Uri& uri, const std::function<void(ByteSink&)>& fill,
                  const WriteOptions& options = {});

// The same where `fill` can run only once: its bytes wait in a temporary file (SpillFile).
Stat store_object_once(Storage& storage, const Uri& uri,
                       const std::function<void(ByteSink&)>& fill);

}  // namespace berth
